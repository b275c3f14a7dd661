package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.faults.Link;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.WallClock;
import dev.palisade.sessions.Scene.Watched;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The wall clock of a client, and of the server, is stepped by an hour (requirement A9, properties P2 and P5). */
class WallClockIT {
    private static final String LOCK = "job/1";
    private static final long TTL_MILLIS = 4_000;
    private static final Duration HOUR = Duration.ofHours(1);

    private @Nullable WallClock clock;
    private @Nullable Scene opened;

    @BeforeEach
    void openTheClock() {
        clock = WallClock.open().orElse(null);
        Assumptions.assumeTrue(clock != null, "no cc or no Linux: steps of the wall clock are not tried");
    }

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
        if (clock != null) {
            clock.close();
        }
    }

    private WallClock clock() {
        return Objects.requireNonNull(clock);
    }

    private Scene scene(Map<String, String> environment) {
        Scene scene = new Scene(environment);
        opened = scene;
        return scene;
    }

    /** The step is real: the process reads it, and its monotonic clock does not. */
    private void stepAndSee(Child tenant, Duration step) {
        clock().step(step);
        Scene.eventually().until(() -> {
            String[] words = validity(tenant).split(" ", -1);
            long ahead = Long.parseLong(words[3]) - System.currentTimeMillis();
            return Math.abs(ahead - step.toMillis()) < 60_000;
        });
    }

    private static String validity(Child tenant) {
        tenant.send("valid " + LOCK);
        return tenant.await(line -> line.startsWith("valid "));
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aClientsClockSteppedForwardEndsItsLeaseThoughNobodyLooks() {
        Scene scene = scene(Map.of());
        Child tenant = scene.tenant("tenant", scene.address(), clock().environment());
        tenant.send("take " + LOCK + " " + TTL_MILLIS + " 10000");
        long token = number(tenant.await(line -> line.startsWith("granted ")), 2);

        long start = System.nanoTime();
        clock().step(HOUR);
        String lost = tenant.await(line -> line.startsWith("lost "));

        assertThat(lost).startsWith("lost " + LOCK + " SERVER_UNREACHABLE ");
        assertThat(Duration.ofNanos(number(lost, 3) - start))
                .as("with the next keep-alive, long before the end of the lease")
                .isLessThan(Duration.ofMillis(TTL_MILLIS / 3).plus(Scene.SLACK));
        assertThat(validity(tenant)).startsWith("valid " + LOCK + " false ");
        tenant.send("take " + LOCK + " " + TTL_MILLIS + " 20000");
        assertThat(number(tenant.await(line -> line.startsWith("granted ")), 2)).isGreaterThan(token);
        assertThat(validity(tenant)).startsWith("valid " + LOCK + " true ");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aClientsClockSteppedBackProlongsNothing() {
        Scene scene = scene(Map.of());
        Link link = scene.link();
        Child tenant = scene.tenant("tenant", link.address(), clock().environment());
        tenant.send("take " + LOCK + " " + TTL_MILLIS + " 10000");
        tenant.await(line -> line.startsWith("granted "));
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        // Frozen first: what is confirmed after the step counts from the stepped clock.
        long frozen = System.nanoTime();
        link.freeze(Link.Way.values());
        stepAndSee(tenant, HOUR.negated());
        Watched next = Scene.await(wait);
        String lost = tenant.await(line -> line.startsWith("lost "));

        assertThat(Duration.ofNanos(number(lost, 3) - frozen)).isLessThan(Duration.ofMillis(TTL_MILLIS));
        assertThat(number(lost, 3)).isLessThan(next.gotNanos());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, -1})
    @Execution(ExecutionMode.CONCURRENT)
    void aServersClockThatStepsEndsNoLeaseAndTokensGoOnRising(long hours) throws InterruptedException {
        Scene scene = scene(clock().environment());
        Watched held = Scene.take(scene.client("holder", scene.address()), LOCK, TTL_MILLIS);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, TTL_MILLIS);
        Watched unattended = Scene.take(scene.client("holder", scene.address()), "job/2", TTL_MILLIS);
        unattended.lease().close();

        clock().step(HOUR.multipliedBy(hours));

        Scene.eventually()
                .during(Duration.ofMillis(TTL_MILLIS + 1_000))
                .until(() -> held.lease().isValid() && !wait.isDone());
        assertThat(scene.describe(LOCK).holders().get(0).remaining())
                .isLessThanOrEqualTo(Duration.ofMillis(TTL_MILLIS));
        held.lease().close();
        assertThat(Scene.await(wait).token()).isGreaterThan(held.token());
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aServerThatStartsAgainInThePastKeepsLeasesAndItsTokensRise() {
        clock().step(HOUR);
        Scene scene = scene(clock().environment());
        Watched held = Scene.take(scene.client("holder", scene.address()), LOCK, 60_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, 60_000);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        clock().step(HOUR.negated());
        scene.restartServer(clock().environment());

        Scene.eventually().until(() -> scene.history(LOCK, "RESUMED").size() > 0);
        assertThat(held.lease().isValid()).isTrue();
        assertThat(wait).isNotDone();
        held.lease().close();
        Watched next = Scene.await(wait);
        assertThat(next.token()).isGreaterThan(held.token());
        // And time goes on: a lease that nobody renews ends.
        Child dead = scene.tenant("dead", scene.address(), Map.of());
        dead.send("take job/2 1000 10000");
        assertThat(number(dead.await(line -> line.startsWith("granted ")), 2)).isGreaterThan(next.token());
        dead.pause();
        Scene.eventually().until(() -> scene.history("job/2", "EXPIRED").size() == 1);
    }

    private static long number(String line, int word) {
        return Long.parseLong(line.split(" ", -1)[word]);
    }
}
