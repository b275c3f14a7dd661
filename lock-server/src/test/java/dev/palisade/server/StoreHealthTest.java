package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StoreHealthTest {
    private final MemoryStore store = new MemoryStore();
    private final HealthStatusManager health = new HealthStatusManager();
    private final StoreHealth look = new StoreHealth(health, store::status);
    private final List<ServingStatus> watched = new ArrayList<>();
    private Server server;
    private ManagedChannel channel;

    @BeforeEach
    void serve() throws Exception {
        server = InProcessServerBuilder.forName("store-health")
                .directExecutor()
                .addService(health.getHealthService())
                .build()
                .start();
        channel =
                InProcessChannelBuilder.forName("store-health").directExecutor().build();
    }

    @AfterEach
    void stop() {
        channel.shutdownNow();
        server.shutdownNow();
    }

    @Test
    void theServiceServesWhileItsStoreIsUpAndTheProcessAlways() {
        look.run();
        HealthGrpc.newStub(channel)
                .watch(
                        HealthCheckRequest.newBuilder()
                                .setService(LocksGrpc.SERVICE_NAME)
                                .build(),
                        new Watching());
        look.run();
        store.fails(StoreFailure.unavailable("no primary"));
        look.run();
        look.run();
        assertThat(check("")).isEqualTo(ServingStatus.SERVING);
        store.fails(null);
        look.run();
        assertThat(watched).containsExactly(ServingStatus.SERVING, ServingStatus.NOT_SERVING, ServingStatus.SERVING);
    }

    @Test
    void aServerThatStopsServesNoMoreWhateverItsStoreDoes() {
        look.run();
        health.enterTerminalState();
        look.run();
        assertThat(check(LocksGrpc.SERVICE_NAME)).isEqualTo(ServingStatus.NOT_SERVING);
    }

    private ServingStatus check(String service) {
        return HealthGrpc.newBlockingStub(channel)
                .check(HealthCheckRequest.newBuilder().setService(service).build())
                .getStatus();
    }

    private final class Watching implements StreamObserver<HealthCheckResponse> {
        @Override
        public void onNext(HealthCheckResponse response) {
            watched.add(response.getStatus());
        }

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
    }
}
