package dev.palisade.examples;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.examples.orders.OrdersGrpc;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import dev.palisade.guard.grpc.GuardInterceptor;
import dev.palisade.guard.grpc.GuardService;
import io.grpc.Channel;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerInterceptors;
import java.io.IOException;
import java.nio.file.Path;

/** A gRPC service behind a guard. */
final class GuardAService {
    private GuardAService() {}

    /** @param locks to the lock server */
    static Server run(
            OrdersGrpc.OrdersImplBase orders, Path keyset, Path marks, Channel locks, ServerBuilder<?> builder)
            throws IOException {
        // snippet
        Guard guard = Guard.builder(KeysetFile.open(keyset).verifier("palisade"), MarkStore.file(marks))
                .lockService(GrpcLockService.at(locks, "palisade"))
                .build();
        GuardInterceptor interceptor = GuardInterceptor.of(guard, OrdersGrpc.getServiceDescriptor());
        builder.addService(ServerInterceptors.intercept(orders, interceptor)).addService(new GuardService(interceptor));
        // end
        return builder.build().start();
    }
}
