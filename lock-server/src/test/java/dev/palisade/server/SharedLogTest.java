package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.Standby;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.redis.FreePort;
import dev.palisade.redis.RedisProcess;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.data.Offset;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two lock servers over one Redis: one is active, the other a standby. */
class SharedLogTest {
    private static final ByteString SESSION =
            ByteString.copyFrom(ByteBuffer.allocate(16).putLong(3).putLong(3).flip());

    @TempDir
    Path home;

    private final RedisProcess redis = RedisProcess.start();
    private final List<Started> started = new ArrayList<>();
    private int requests;
    /** Of the next server; null for none. */
    private @Nullable Integer adminPort;

    /** A lock server, and a connection to it. */
    private record Started(RunningServer server, ManagedChannel channel) {
        LocksGrpc.LocksBlockingStub locks() {
            return LocksGrpc.newBlockingStub(channel).withDeadlineAfter(60, TimeUnit.SECONDS);
        }

        ServingStatus health() {
            return HealthGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(60, TimeUnit.SECONDS)
                    .check(HealthCheckRequest.newBuilder()
                            .setService(LocksGrpc.SERVICE_NAME)
                            .build())
                    .getStatus();
        }
    }

    private static StoreReply status(Started server) {
        return server.locks().store(StoreRequest.getDefaultInstance());
    }

    /** What a load balancer asks of the server with {@link #adminPort}. */
    private HttpResponse<String> ready() throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + "/health/ready"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    private Started start(String address) throws Exception {
        ServerCommand config = new ServerCommand();
        config.port = 0;
        config.store = redis.uri();
        config.advertise = address;
        config.init = true;
        config.claim = Duration.ofSeconds(1);
        config.adminPort = adminPort;
        config.keyset = home.resolve("keys.json");
        RunningServer server = RunningServer.start(config);
        Started one = new Started(
                server,
                NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()))
                        .directExecutor()
                        .usePlaintext()
                        .build());
        started.add(one);
        return one;
    }

    @AfterEach
    void stop() {
        started.forEach(one -> one.channel().shutdownNow());
        started.forEach(one -> one.server().close());
        redis.close();
    }

    private AcquireReply acquire(Started server, String lock) {
        return server.locks()
                .acquire(AcquireRequest.newBuilder()
                        .setLock(lock)
                        .setMode(Mode.EXCLUSIVE)
                        .setTtlMillis(60_000)
                        .setRequestId(++requests)
                        .setSessionId(SESSION)
                        .build());
    }

    private static void release(Started server, String lock, Granted held) {
        var unused = server.locks()
                .release(ReleaseRequest.newBuilder()
                        .setLock(lock)
                        .setSessionId(SESSION)
                        .setGrantId(held.getGrantId())
                        .setToken(held.getToken())
                        .build());
    }

    @Test
    void oneServerIsActiveAndTheOtherTakesOverWhenItStops() throws Exception {
        Started a = start("a.example:7600");
        await().until(() -> a.health() == ServingStatus.SERVING);
        adminPort = FreePort.any();
        Started b = start("b.example:7600");
        Granted held = acquire(a, "orders/7").getGranted();

        await().untilAsserted(() -> {
            StatusRuntimeException refused =
                    catchThrowableOfType(StatusRuntimeException.class, () -> acquire(b, "orders/8"));
            assertThat(Rejections.ofThrowable(refused)).get().satisfies(rejection -> {
                assertThat(rejection.reason()).isEqualTo(Reason.NOT_ACTIVE);
                assertThat(rejection.toString()).contains("a.example:7600");
            });
        });
        assertThat(b.health()).isEqualTo(ServingStatus.NOT_SERVING);
        assertThat(ready().statusCode()).isEqualTo(503);
        assertThat(ready().body()).isEqualTo("not ready: this lock server is a standby; a.example:7600 is active\n");
        assertThat(status(a).getStandby()).isFalse();
        assertThat(status(b).getStandby()).isTrue();
        await().untilAsserted(() -> {
            for (StoreReply status : List.of(status(a), status(b))) {
                assertThat(status.getLog().getActive()).isEqualTo("a.example:7600");
                assertThat(status.getLog().getTakenOverWhy()).isEqualTo("STARTED");
                assertThat(status.getLog().getClaimRemainingMillis()).isBetween(1L, 1_000L);
                assertThat(status.getLog().getStandbysList())
                        .extracting(Standby::getAddress)
                        .containsExactly("b.example:7600");
                assertThat(status.getSinceEpochMillis()).isCloseTo(System.currentTimeMillis(), Offset.offset(60_000L));
            }
        });

        started.remove(a);
        a.server().close();
        a.channel().shutdownNow();
        await().until(() -> b.health() == ServingStatus.SERVING);
        assertThat(ready().statusCode()).isEqualTo(200);
        await().untilAsserted(() -> {
            SharedLog log = status(b).getLog();
            assertThat(log.getActive()).isEqualTo("b.example:7600");
            assertThat(log.getTakenOverWhy()).isEqualTo("STOPPED");
            assertThat(log.getTakenOverFrom()).isEqualTo("a.example:7600");
            assertThat(log.getStandbysList()).isEmpty();
        });
        release(b, "orders/7", held);
        assertThat(acquire(b, "orders/7").getGranted().getToken()).isGreaterThan(held.getToken());
    }

    @Test
    void theActiveServerStaysItWhenItsConnectionBreaks() throws Exception {
        Started a = start("a.example:7600");
        await().until(() -> a.health() == ServingStatus.SERVING);
        Granted held = acquire(a, "orders/7").getGranted();
        redis.ask("CLIENT", "KILL", "TYPE", "normal");
        await().ignoreExceptions()
                .untilAsserted(
                        () -> assertThat(acquire(a, "orders/8").getGranted().getToken())
                                .isGreaterThan(held.getToken()));
        release(a, "orders/7", held);
    }
}
