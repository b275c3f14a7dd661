package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.TestRedis;
import dev.palisade.scenario.Installation;
import dev.palisade.sessions.Scene.Watched;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Two lock servers, processes of their own, on one Redis: any of them answers, and a killed one costs nobody anything (D4). */
@Execution(ExecutionMode.CONCURRENT)
class SeveralServersIT {
    private static final String LOCK = "orders/7";
    private static final long TTL_MILLIS = 10_000;

    private final Map<String, String> store = Map.of(
            "PALISADE_SERVER_STORE", TestRedis.get().uri(),
            "PALISADE_SERVER_STORE_PREFIX", TestRedis.get().newPrefix(),
            "PALISADE_SERVER_INIT", "true");
    private final Scene scene = new Scene(store);
    private final Installation.Service other = scene.anotherServer(store);
    private final String both = scene.address() + "," + other.address();

    @AfterEach
    void close() {
        scene.close();
    }

    @Test
    void aKilledServerLosesNoLeaseAndNoPlaceInTheQueue() throws InterruptedException {
        PalisadeClient onlooker = scene.client("onlooker of both", other.address());
        Watched held = Scene.take(scene.client("a", both), LOCK, TTL_MILLIS);
        CompletableFuture<AcquireResult> b = Scene.queue(scene.client("b", both), LOCK, TTL_MILLIS);
        Scene.eventually().until(() -> onlooker.describe(LOCK).waitersTotal() == 1);
        CompletableFuture<AcquireResult> c = Scene.queue(scene.client("c", both), LOCK, TTL_MILLIS);
        Scene.eventually().until(() -> onlooker.describe(LOCK).waitersTotal() == 2);

        scene.server().kill();
        Scene.eventually()
                .until(() -> onlooker.operations().history(LOCK).stream()
                        .anyMatch(entry -> entry.what().equals("RESUMED")));
        assertThat(held.loss()).as("a's lease").isNotDone();
        assertThat(onlooker.describe(LOCK).holders()).hasSize(1);
        held.lease().close();

        Watched second = Scene.await(b);
        assertThat(c).as("stands behind b").isNotDone();
        assertThat(second.token()).isGreaterThan(held.token());
        second.lease().close();
        assertThat(Scene.await(c).token()).isGreaterThan(second.token());
    }

    @Test
    void aWaiterIsServedWhicheverServerItsPredecessorUsed() {
        PalisadeClient one = scene.client("one", scene.address());
        PalisadeClient two = scene.client("two", other.address());
        long last = 0;
        for (int turn = 0; turn < 10; turn++) {
            Watched first = Scene.take(one, LOCK, TTL_MILLIS);
            CompletableFuture<AcquireResult> next = Scene.queue(two, LOCK, TTL_MILLIS);
            Scene.eventually().until(() -> one.describe(LOCK).waitersTotal() == 1);
            first.lease().close();
            Watched second = Scene.await(next);
            assertThat(first.token()).isGreaterThan(last);
            assertThat(second.token()).isGreaterThan(first.token());
            last = second.token();
            second.lease().close();
        }
    }

    @Test
    void aHolderKeepsItsLeaseAlthoughRedisForgotIt() {
        try (RedisProcess redis = RedisProcess.start();
                Scene alone = new Scene(Map.of(
                        "PALISADE_SERVER_STORE", redis.uri(),
                        "PALISADE_SERVER_FAILOVER_GRACE", "4s",
                        "PALISADE_SERVER_INIT", "true"))) {
            Watched held = Scene.take(alone.client("a", alone.address()), LOCK, 3_000);
            CompletableFuture<AcquireResult> b = Scene.queue(alone.client("b", alone.address()), LOCK, TTL_MILLIS);
            Scene.eventually().until(() -> alone.describe(LOCK).waitersTotal() == 1);
            redis.kill9();
            redis.restart();
            Scene.eventually().until(() -> !alone.history(LOCK, "RECLAIMED").isEmpty());
            assertThat(held.loss()).as("a's lease").isNotDone();
            assertThat(b).as("nobody else is granted meanwhile").isNotDone();
            held.lease().close();
            assertThat(Scene.await(b).token()).isGreaterThan(held.token());
        }
    }
}
