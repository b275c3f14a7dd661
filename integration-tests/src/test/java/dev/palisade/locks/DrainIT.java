package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LockUnavailableException;
import dev.palisade.scenario.Child;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** SIGTERM of the lock server: what breaks by it is nobody's death, so nothing is freed for it (requirement D8). */
@Execution(ExecutionMode.CONCURRENT)
class DrainIT {
    private static final String LOCK = "job/1";
    private static final long TTL_MILLIS = 15_000; // Longer than a server takes to start on a very busy machine.

    private final House house = new House();
    private final Child holder = house.actor("holder");
    private final Child waiter = house.actor("waiter");

    @AfterEach
    void close() {
        house.close();
    }

    @Test
    void aStopCostsNobodyALeaseOrAPlaceInTheQueue() throws InterruptedException {
        long token = House.acquire(holder, LOCK, TTL_MILLIS);
        house.queue(waiter, LOCK, TTL_MILLIS, 1);

        assertThat(house.stopServer()).as("exit code").isZero();
        house.restartServer();

        // Longer than a lease that nobody renews can last after the restart.
        Awaitility.await()
                .atMost(House.PATIENCE.multipliedBy(2))
                .during(Duration.ofMillis(TTL_MILLIS).plusSeconds(1))
                .ignoreException(LockUnavailableException.class)
                .until(() -> house.describe(LOCK).holders().stream()
                        .anyMatch(by -> by.token().value() == token));
        assertThat(holder.ask("valid")).isEqualTo("valid true");
        assertThat(house.describe(LOCK).waiters()).extracting(by -> by.owner()).containsExactly("waiter");
        assertThat(holder.ask("release")).isEqualTo("released RELEASED");
        assertThat(House.awaitGrant(waiter)).isGreaterThan(token);
    }
}
