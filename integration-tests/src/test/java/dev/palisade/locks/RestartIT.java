package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LockUnavailableException;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.TimingSensitive;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** kill -9 of the lock server and a new one in its place: nothing that was answered is forgotten (requirement D2). */
@TimingSensitive("A server has to be back within a lease.")
class RestartIT {
    private static final String LOCK = "job/1";
    private static final long TTL_MILLIS = 10_000; // Longer than a server takes to start on a busy machine.
    /** Hand-off, and what a busy machine adds. */
    private static final Duration ALLOWANCE = Duration.ofSeconds(4);

    private final House house = new House();
    private final Child holder = house.actor("holder");
    private final Child first = house.actor("first");
    private final Child second = house.actor("second");

    @AfterEach
    void close() {
        house.close();
    }

    @Test
    void theHolderKeepsItsLeaseTheQueueItsOrderAndTokensRise() throws InterruptedException {
        long token = House.acquire(holder, LOCK, TTL_MILLIS);
        house.queue(first, LOCK, TTL_MILLIS, 1);
        house.queue(second, LOCK, TTL_MILLIS, 2);

        house.killServer();
        house.restartServer();

        // Longer than a lease that nobody renews can last after the restart.
        Awaitility.await()
                .atMost(House.PATIENCE)
                .during(Duration.ofMillis(TTL_MILLIS).plusSeconds(1))
                .ignoreException(LockUnavailableException.class)
                .until(() -> house.describe(LOCK).holders().stream()
                        .anyMatch(by -> by.token().value() == token));
        assertThat(house.describe(LOCK).waiters())
                .extracting(waiter -> waiter.owner())
                .containsExactly("first", "second");
        assertThat(holder.ask("valid")).isEqualTo("valid true");
        assertThat(holder.ask("write " + LOCK + " kept")).startsWith("written ");

        assertThat(holder.ask("release")).isEqualTo("released RELEASED");
        long tokenOfFirst = House.awaitGrant(first);
        assertThat(tokenOfFirst).isGreaterThan(token);
        // The SDK hands an offered lease over before the server has its accept: for a moment it is still a waiter's.
        Awaitility.await()
                .atMost(House.PATIENCE)
                .untilAsserted(() -> assertThat(house.describe(LOCK).waiters())
                        .extracting(waiter -> waiter.owner())
                        .containsExactly("second"));
        assertThat(first.ask("release")).isEqualTo("released RELEASED");
        assertThat(House.awaitGrant(second)).isGreaterThan(tokenOfFirst);
    }

    @Test
    void aHolderThatNeverComesBackLosesItsLeaseAfterTheTtl() {
        long token = House.acquire(holder, LOCK, TTL_MILLIS);
        house.queue(first, LOCK, TTL_MILLIS, 1);

        house.killServer();
        holder.kill();
        long start = System.nanoTime();
        house.restartServer();
        long restarted = System.nanoTime();
        long next = House.awaitGrant(first);
        long granted = System.nanoTime();

        System.out.println("granted " + (granted - restarted) / 1_000_000 + " ms after the restart, ttl " + TTL_MILLIS);
        assertThat(next).isGreaterThan(token);
        assertThat(Duration.ofNanos(granted - start)).isGreaterThanOrEqualTo(Duration.ofMillis(TTL_MILLIS));
        assertThat(Duration.ofNanos(granted - restarted))
                .isLessThan(Duration.ofMillis(TTL_MILLIS).plus(ALLOWANCE));
    }

    @Test
    void tokensRiseOverSeveralRestarts() {
        long last = 0;
        for (int restart = 0; restart < 3; restart++) {
            long token = House.acquire(holder, LOCK + "/" + restart, TTL_MILLIS);
            assertThat(token).isGreaterThan(last);
            last = token;
            house.killServer();
            house.restartServer();
        }
    }
}
