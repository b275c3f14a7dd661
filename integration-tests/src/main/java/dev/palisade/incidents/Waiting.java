package dev.palisade.incidents;

import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for something to be seen, never for longer than it is told. */
final class Waiting {
    private static final long LOOK_NANOS = 2_000_000;

    private Waiting() {}

    /** Returns whether it was seen within {@code patience}. */
    static boolean within(Duration patience, BooleanSupplier seen) {
        long deadline = System.nanoTime() + patience.toNanos();
        while (!seen.getAsBoolean()) {
            if (System.nanoTime() > deadline || Thread.currentThread().isInterrupted()) {
                return false;
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return true;
    }

    /** @throws ScenarioFailed if it was not seen within {@code patience} */
    static void until(String what, Duration patience, BooleanSupplier seen) {
        if (!within(patience, seen)) {
            throw new ScenarioFailed("waited " + patience.toSeconds() + " s in vain until " + what);
        }
    }
}
