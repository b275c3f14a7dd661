package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.redis.TestRedis;
import dev.palisade.scenario.Installation;
import dev.palisade.sessions.Scene.Watched;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A lock server with a log takes the place of one with functions, while a client holds a lease. Processes of their own. */
@Execution(ExecutionMode.CONCURRENT)
class FromFunctionsIT {
    private static final long TTL_MILLIS = 60_000;

    private final Map<String, String> store = Map.of(
            "PALISADE_SERVER_STORE",
            TestRedis.get().uri(),
            "PALISADE_SERVER_STORE_PREFIX",
            TestRedis.get().newPrefix(),
            "PALISADE_SERVER_FAILOVER_GRACE",
            "5s");
    private final Map<String, String> functions =
            with(store, "PALISADE_SERVER_INIT", "PALISADE_SERVER_MACHINE", "functions");
    private final Scene scene = new Scene(functions);

    @AfterEach
    void close() {
        scene.close();
    }

    private static Map<String, String> with(Map<String, String> settings, String flag, String name, String value) {
        Map<String, String> more = new HashMap<>(settings);
        more.put(flag, "true");
        more.put(name, value);
        return Map.copyOf(more);
    }

    @Test
    void aLeaseOutlivesTheMoveAndTheFunctionsGrantNothingAfterIt() throws Exception {
        String port = Scene.freePort();
        PalisadeClient client = scene.client("client", scene.address() + ",127.0.0.1:" + port);
        Watched held = Scene.take(client, "orders/7", TTL_MILLIS);

        Map<String, String> log = with(store, "PALISADE_SERVER_FROM_FUNCTIONS", "PALISADE_SERVER_MACHINE", "log");
        Installation.Service moved = scene.anotherServer(log, "--port", port);
        try (PalisadeClient late = PalisadeClient.connect(scene.address())) {
            AcquireResult refused = late.tryAcquire("orders/8");
            assertThat(refused).isInstanceOf(AcquireResult.Unavailable.class);
            assertThat(((AcquireResult.Unavailable) refused).rejection().message())
                    .contains("the locks of this prefix moved into a log");
        }
        scene.server().kill();

        PalisadeClient next = scene.client("next", moved.address());
        assertThat(Scene.take(next, "orders/8", TTL_MILLIS).token()).isGreaterThan(held.token());
        AcquireResult other =
                next.tryAcquire("orders/7", AcquireOptions.trying().ttl(Duration.ofMillis(TTL_MILLIS)));
        assertThat(other).isInstanceOf(AcquireResult.Busy.class);
        assertThat(held.lease().isValid()).isTrue();
        assertThat(held.loss()).isNotDone();
        held.lease().close();
        assertThat(Scene.take(next, "orders/7", TTL_MILLIS).token()).isGreaterThan(held.token());
    }
}
