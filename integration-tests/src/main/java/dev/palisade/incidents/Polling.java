package dev.palisade.incidents;

import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Polling of a condition with a timeout. */
final class Polling {
    private static final long POLL_NANOS = 2_000_000;

    private Polling() {}

    /** Returns whether the condition became true within {@code timeout}. */
    static boolean within(Duration timeout, BooleanSupplier condition) {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline || Thread.currentThread().isInterrupted()) {
                return false;
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        return true;
    }

    /** @throws ScenarioFailed if the condition did not become true within {@code timeout} */
    static void until(String what, Duration timeout, BooleanSupplier condition) {
        if (!within(timeout, condition)) {
            throw new ScenarioFailed("waited " + timeout.toSeconds() + " s in vain until " + what);
        }
    }
}
