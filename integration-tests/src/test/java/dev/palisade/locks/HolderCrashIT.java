package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.TimingSensitive;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** A holder that is gone, or that nobody can tell from gone, does not keep the lock (requirement A4). */
@TimingSensitive("Hand-off within a second.")
class HolderCrashIT {
    private static final String LOCK = "job/1";
    private static final Duration GRACE = Duration.ofSeconds(1);
    /** What the requirement allows beyond the grace, or beyond the end of the lease. */
    private static final Duration HAND_OFF = Duration.ofSeconds(1);
    /** For a machine that is busy with other things: processes get the processor late. Not part of the requirement. */
    private static final Duration LOADED_MACHINE = Duration.ofSeconds(2);

    private final House house = new House();
    private final Child holder = house.actor("holder");
    private final Child waiter = house.actor("waiter");

    @AfterEach
    void close() {
        house.close();
    }

    private static Duration since(long startNanos) {
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }

    @Test
    void aKilledHoldersLockGoesToTheWaiterWithinTheGraceAndASecond(TestReporter reporter) {
        long token = House.acquire(holder, LOCK, 60_000);
        house.queue(waiter, LOCK, 10_000, 1);

        long start = System.nanoTime();
        holder.kill();
        long next = House.awaitGrant(waiter);
        Duration took = since(start);

        reporter.publishEntry("granted after kill -9, ms", Long.toString(took.toMillis()));
        System.out.println("granted " + took.toMillis() + " ms after kill -9 of the holder");
        assertThat(next).isGreaterThan(token);
        assertThat(took).isLessThan(GRACE.plus(HAND_OFF).plus(LOADED_MACHINE));
    }

    @Test
    void aStoppedHolderKeepsTheLockUntilItsLeaseEndsAndNoLonger(TestReporter reporter) throws InterruptedException {
        long token = House.acquire(holder, LOCK, 4_000);
        house.queue(waiter, LOCK, 10_000, 1);

        holder.pause();
        long start = System.nanoTime();
        Duration remaining = house.describe(LOCK).holders().get(0).remaining();
        long next = House.awaitGrant(waiter);
        Duration took = since(start);

        reporter.publishEntry("remaining and granted after SIGSTOP, ms", remaining.toMillis() + " " + took.toMillis());
        System.out.println("granted " + took.toMillis() + " ms after SIGSTOP of the holder, its lease had "
                + remaining.toMillis() + " ms left");
        assertThat(next).isGreaterThan(token);
        assertThat(took).isGreaterThanOrEqualTo(remaining);
        assertThat(took).isLessThan(Duration.ofSeconds(4).plus(HAND_OFF).plus(LOADED_MACHINE));
        holder.resume();
        assertThat(holder.ask("write " + LOCK + " late"))
                .as("nobody has used the lock since")
                .startsWith("written ");
        assertThat(waiter.ask("write " + LOCK + " mine")).startsWith("written ");
        assertThat(holder.ask("write " + LOCK + " later")).startsWith("refused TOKEN_STALE");
        assertThat(holder.ask("valid")).startsWith("valid false");
    }

    @Test
    void aLockTakenWithoutASessionIsFreeWhenItsLeaseEnds(TestReporter reporter) {
        long start = System.nanoTime();
        assertThat(holder.ask("acquire-unary " + LOCK + " 3000")).startsWith("granted ");
        long granted = System.nanoTime();
        house.queue(waiter, LOCK, 10_000, 1);

        holder.kill();
        House.awaitGrant(waiter);

        reporter.publishEntry(
                "granted after a unary grant of 3,000 ms, ms",
                Long.toString(since(granted).toMillis()));
        System.out.println("granted " + since(granted).toMillis() + " ms after a unary grant of 3000 ms");
        assertThat(since(start)).isGreaterThanOrEqualTo(Duration.ofSeconds(3));
        assertThat(since(granted))
                .isLessThan(Duration.ofSeconds(3).plus(HAND_OFF).plus(LOADED_MACHINE));
    }
}
