package dev.palisade.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.examples.orders.Order;
import dev.palisade.examples.orders.OrdersGrpc;
import dev.palisade.examples.orders.UpdateOrder;
import dev.palisade.guard.MarkStore;
import dev.palisade.scenario.Installation;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The guide's service behind its guard, with a real lock server and real leases. */
@Execution(ExecutionMode.CONCURRENT)
class GuardAServiceIT {
    private final Installation installation = Installation.fresh();
    private final Installation.Service locks = installation.server();
    private final List<String> applied = new CopyOnWriteArrayList<>();
    private final PalisadeClient a = PalisadeClient.connect(locks.address());
    private final PalisadeClient b = PalisadeClient.connect(locks.address());
    private final ManagedChannel toLocks =
            ManagedChannelBuilder.forTarget(locks.address()).usePlaintext().build();
    private Server server;
    private ManagedChannel toOrders;

    @BeforeEach
    void start() throws Exception {
        Path marks = installation.home().resolve("marks");
        MarkStore.createNeverUsed(marks);
        server = GuardAService.run(
                new Orders(),
                installation.home().resolve("keys/sequencers.json"),
                marks,
                toLocks,
                Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()));
        toOrders = ManagedChannelBuilder.forAddress("127.0.0.1", server.getPort())
                .usePlaintext()
                .build();
    }

    @AfterEach
    void stop() {
        a.close();
        b.close();
        toOrders.shutdownNow();
        toLocks.shutdownNow();
        server.shutdownNow();
        locks.child().kill();
        installation.close();
    }

    private final class Orders extends OrdersGrpc.OrdersImplBase {
        @Override
        public void update(UpdateOrder request, StreamObserver<Order> answer) {
            applied.add(request.getStatus());
            answer.onNext(Order.newBuilder().setStatus(request.getStatus()).build());
            answer.onCompleted();
        }
    }

    @Test
    void aFormerHolderIsRefusedFromTheClaimOnAndBeforeTheNextOnesFirstWrite() throws InterruptedException {
        OrdersGrpc.OrdersBlockingStub late;
        try (Lease lease = a.acquire("orders/42")) {
            late = lease.attach(OrdersGrpc.newBlockingStub(toOrders));
            var unused = late.update(order("paid"));
        }
        var applies = late.update(order("nobody has come after it yet"));
        assertThat(applies.getStatus()).isNotEmpty();

        AcquireResult result = ClaimALock.run(b, toOrders);
        assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        assertThatThrownBy(() -> late.update(order("late"))).isInstanceOfSatisfying(StatusRuntimeException.class, e -> {
            Rejection rejection = Rejections.ofThrowable(e).orElseThrow();
            assertThat(rejection.reason()).isEqualTo(Reason.TOKEN_STALE);
            assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "no");
        });
        Lease next = ((AcquireResult.Granted) result).lease();
        OrdersGrpc.OrdersBlockingStub orders = next.attach(OrdersGrpc.newBlockingStub(toOrders));
        var first = orders.update(order("shipped"));
        var second = orders.update(order("arrived"));
        assertThat(List.of(first.getStatus(), second.getStatus())).containsExactly("shipped", "arrived");
        assertThat(applied).containsExactly("paid", "nobody has come after it yet", "shipped", "arrived");
    }

    @Test
    void aCallWithoutTheLockIsRefused() {
        assertThatThrownBy(() -> OrdersGrpc.newBlockingStub(toOrders).update(order("paid")))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> assertThat(Rejections.ofThrowable(e).orElseThrow().reason())
                                .isEqualTo(Reason.SEQUENCER_MISSING));
        assertThat(applied).isEmpty();
    }

    private static UpdateOrder order(String status) {
        return UpdateOrder.newBuilder().setOrderId("42").setStatus(status).build();
    }
}
