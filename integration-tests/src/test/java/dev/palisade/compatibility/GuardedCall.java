package dev.palisade.compatibility;

import com.google.protobuf.Message;
import com.google.protobuf.StringValue;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.guard.Access;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import dev.palisade.guard.grpc.GuardInterceptor;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A program of a user's: a lease; and, if asked for, a guarded service, a call under each of two leases, and a late call of the
 * former holder. Prints one line: {@code ok}, what was run and the jars, or {@code failed} and why. It has no generated code of its
 * own, which would be of the build's version.
 */
final class GuardedCall {
    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final String LOCK = "orders/42";

    private GuardedCall() {}

    /** @param args the lock server's address, the keyset file, a directory for marks, the parts of a {@link Combination} */
    public static void main(String[] args) {
        try (PalisadeClient client = PalisadeClient.connect(args[0])) {
            if (args[3].equals(Combination.ALL)) {
                guarded(client, args[0], Path.of(args[1]), Path.of(args[2]));
            } else {
                unguarded(client);
            }
            System.out.println("ok " + args[3] + " " + jar(Status.class) + " " + jar(Message.class));
        } catch (Exception e) {
            System.out.println("failed " + e);
        }
        System.exit(0);
    }

    private static void unguarded(PalisadeClient client) throws InterruptedException {
        try (Lease lease = client.acquire(LOCK, WAIT)) {
            lease.ensureValidFor(Duration.ofSeconds(1));
            expect("1", String.valueOf(client.describe(LOCK).holders().size()));
            expect("true", String.valueOf(client.operations().isAlive(lease.sequencer())));
        }
    }

    private static void guarded(PalisadeClient client, String locks, Path keyset, Path marks) throws Exception {
        MarkStore.createNeverUsed(marks);
        Server server = Orders.start(keyset, marks, channel(locks));
        Channel orders = channel("127.0.0.1:" + server.getPort());
        Channel late;
        try (Lease first = client.acquire(LOCK, WAIT)) {
            late = ClientInterceptors.intercept(orders, first.interceptor());
            expect("42", Orders.update(late));
        }
        try (Lease second = client.acquire(LOCK, WAIT)) {
            expect("42", Orders.update(ClientInterceptors.intercept(orders, second.interceptor())));
            expect("TOKEN_STALE", Orders.update(late));
        }
        server.shutdownNow();
    }

    private static ManagedChannel channel(String address) {
        return ManagedChannelBuilder.forTarget(address).usePlaintext().build();
    }

    private static void expect(String wanted, String got) {
        if (!got.equals(wanted) && !got.startsWith(wanted + ": ")) {
            throw new IllegalStateException("expected " + wanted + ", got " + got);
        }
    }

    private static String jar(Class<?> of) {
        return Path.of(of.getProtectionDomain().getCodeSource().getLocation().getPath())
                .getFileName()
                .toString();
    }

    /** Apart, so that the program itself loads where protobuf is missing. */
    private static final class Orders {
        private static final MethodDescriptor<StringValue, StringValue> UPDATE =
                MethodDescriptor.<StringValue, StringValue>newBuilder()
                        .setType(MethodDescriptor.MethodType.UNARY)
                        .setFullMethodName("example.Orders/Update")
                        .setRequestMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
                        .setResponseMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
                        .build();

        private Orders() {}

        static Server start(Path keyset, Path marks, Channel locks) throws Exception {
            Guard guard = Guard.builder(KeysetFile.open(keyset).verifier("palisade"), MarkStore.file(marks))
                    .lockService(GrpcLockService.at(locks, "palisade"))
                    // Each run has data and marks of its own.
                    .protecting("orders of " + ProcessHandle.current().pid())
                    .build();
            ServerServiceDefinition orders = ServerServiceDefinition.builder("example.Orders")
                    .addMethod(UPDATE, ServerCalls.asyncUnaryCall((request, answer) -> {
                        answer.onNext(request);
                        answer.onCompleted();
                    }))
                    .build();
            GuardInterceptor interceptor = GuardInterceptor.builder(guard, orders.getServiceDescriptor())
                    .method(UPDATE, Access.WRITE, order -> "orders/" + order.getValue())
                    .build();
            return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .addService(ServerInterceptors.intercept(orders, interceptor))
                    .build()
                    .start();
        }

        /** The number of the order that was updated, or reason and message of the refusal. */
        static String update(Channel orders) {
            try {
                return ClientCalls.blockingUnaryCall(orders, UPDATE, CallOptions.DEFAULT, StringValue.of("42"))
                        .getValue();
            } catch (StatusRuntimeException e) {
                Rejection refusal = Rejections.ofThrowable(e).orElseThrow(() -> e);
                return refusal.reason() + ": " + refusal.message();
            }
        }
    }
}
