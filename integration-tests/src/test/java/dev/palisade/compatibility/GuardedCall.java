package dev.palisade.compatibility;

import com.google.protobuf.Message;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.examples.orders.Order;
import dev.palisade.examples.orders.OrdersGrpc;
import dev.palisade.examples.orders.UpdateOrder;
import dev.palisade.guard.Guard;
import dev.palisade.guard.grpc.GuardInterceptor;
import dev.palisade.guard.grpc.GuardService;
import dev.palisade.guard.grpc.LockServer;
import dev.palisade.guard.mark.FileMarkStore;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A program of a user's: a guarded service, a lease claimed at its guard, a call under it, and a late call of the former holder. Prints
 * one line: {@code ok} and the jars it ran with, or {@code failed} and why.
 */
final class GuardedCall {
    private GuardedCall() {}

    /** @param args the lock server's address, the keyset file, a directory for marks */
    public static void main(String[] args) {
        try {
            run(args[0], Path.of(args[1]), Path.of(args[2]));
            System.out.println("ok " + jar(Status.class) + " " + jar(Message.class));
        } catch (Exception e) {
            System.out.println("failed " + e);
        }
        System.exit(0);
    }

    private static void run(String locks, Path keyset, Path marks) throws Exception {
        try (PalisadeClient client = PalisadeClient.connect(locks)) {
            FileMarkStore.createNeverUsed(marks);
            Server server = guarded(keyset, marks, channel(locks));
            Channel orders = channel("127.0.0.1:" + server.getPort());
            OrdersGrpc.OrdersBlockingStub late;
            try (Lease first = client.acquire("orders/42", Duration.ofSeconds(30))) {
                late = first.attach(OrdersGrpc.newBlockingStub(orders));
                expect("paid", update(late, "paid"));
            }
            AcquireResult result = client.tryAcquire(
                    "orders/42",
                    AcquireOptions.defaults().wait(Duration.ofSeconds(30)).claiming(orders));
            Lease second = ((AcquireResult.Granted) result).lease();
            expect("TOKEN_STALE", update(late, "late"));
            expect("shipped", update(second.attach(OrdersGrpc.newBlockingStub(orders)), "shipped"));
            expect("true", String.valueOf(client.operations().isAlive(second.sequencer())));
            second.close();
            server.shutdownNow();
        }
    }

    private static Server guarded(Path keyset, Path marks, Channel locks) throws Exception {
        Guard guard = Guard.builder(KeysetFile.open(keyset).verifier("palisade"), FileMarkStore.at(marks))
                .lockService(LockServer.at(locks, "palisade"))
                .build();
        GuardInterceptor interceptor = GuardInterceptor.of(guard, OrdersGrpc.getServiceDescriptor());
        return NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                .addService(ServerInterceptors.intercept(new Orders(), interceptor))
                .addService(new GuardService(interceptor))
                .build()
                .start();
    }

    private static ManagedChannel channel(String address) {
        return ManagedChannelBuilder.forTarget(address).usePlaintext().build();
    }

    /** What came back, or the reason of the refusal. */
    private static String update(OrdersGrpc.OrdersBlockingStub orders, String status) {
        UpdateOrder order =
                UpdateOrder.newBuilder().setOrderId("42").setStatus(status).build();
        try {
            return orders.update(order).getStatus();
        } catch (StatusRuntimeException e) {
            Reason reason = Rejections.ofThrowable(e).orElseThrow(() -> e).reason();
            return reason.name();
        }
    }

    private static void expect(String wanted, String got) {
        if (!got.equals(wanted)) {
            throw new IllegalStateException("expected " + wanted + ", got " + got);
        }
    }

    private static String jar(Class<?> of) {
        return Path.of(of.getProtectionDomain().getCodeSource().getLocation().getPath())
                .getFileName()
                .toString();
    }

    private static final class Orders extends OrdersGrpc.OrdersImplBase {
        @Override
        public void update(UpdateOrder request, StreamObserver<Order> answer) {
            answer.onNext(Order.newBuilder().setStatus(request.getStatus()).build());
            answer.onCompleted();
        }
    }
}
