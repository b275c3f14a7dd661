package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.PalisadeClient;
import dev.palisade.redis.TestRedis;
import dev.palisade.scenario.Installation;
import dev.palisade.sessions.Scene.Watched;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** An active lock server and a standby, processes of their own, over a log in one Redis: the other serves when one ends. */
@Execution(ExecutionMode.CONCURRENT)
class StandbyIT {
    private static final long TTL_MILLIS = 30_000;
    private static final Duration AFTER_KILL = Duration.ofSeconds(3);
    private static final Duration AFTER_STOP = Duration.ofSeconds(1);

    private final Map<String, String> store = Map.of(
            "PALISADE_SERVER_STORE",
            TestRedis.get().uri(),
            "PALISADE_SERVER_STORE_PREFIX",
            TestRedis.get().newPrefix(),
            "PALISADE_SERVER_MACHINE",
            "log",
            "PALISADE_SERVER_INIT",
            "true");
    private final Scene scene = new Scene(store, "--port", Scene.freePort());
    private final Installation.Service other = scene.anotherServer(store, "--port", Scene.freePort());
    private final PalisadeClient client = scene.client("client", scene.address() + "," + other.address());

    StandbyIT() throws IOException {}

    @AfterEach
    void close() {
        scene.close();
    }

    /** Of a lock that is taken and released. */
    private long token() {
        Watched held = Scene.take(client, "orders/7", TTL_MILLIS);
        held.lease().close();
        return held.token();
    }

    @Test
    void theStandbyServesWhenTheActiveServerIsKilledOrStopped() {
        Watched held = Scene.take(client, "orders/8", TTL_MILLIS);
        long first = token();
        assertThat(first).isGreaterThan(held.token());

        long killed = System.nanoTime();
        scene.server().kill();
        long second = token();
        assertThat(Scene.since(killed)).isLessThan(AFTER_KILL.plus(Scene.SLACK));
        assertThat(second).isGreaterThan(first);

        scene.restartServer(store);
        long stopped = System.nanoTime();
        CompletableFuture<Integer> exit =
                CompletableFuture.supplyAsync(() -> other.child().terminate());
        long third = token();
        assertThat(Scene.since(stopped)).isLessThan(AFTER_STOP.plus(Scene.SLACK));
        assertThat(exit.join()).isZero();
        assertThat(third).isGreaterThan(second);

        assertThat(held.loss()).isNotDone();
        assertThat(held.lease().isValid()).isTrue();
        held.lease().close();
        assertThat(Scene.take(client, "orders/8", TTL_MILLIS).token()).isGreaterThan(third);
    }
}
