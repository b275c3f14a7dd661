package dev.palisade.steps;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/** How the rounds wait: often, and for long. */
final class Waits {
    static final Duration PATIENCE = Duration.ofMinutes(1);

    private Waits() {}

    static void until(Callable<Boolean> condition) {
        try {
            Awaitility.await()
                    .atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(5))
                    .until(condition);
        } catch (ConditionTimeoutException e) {
            throw new AssertionError("not within " + PATIENCE, e);
        }
    }
}
