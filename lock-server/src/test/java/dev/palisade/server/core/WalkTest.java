package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Random walks over the lock machine, each step judged. {@code -Dpalisade.walk.seeds=180} walks further. */
class WalkTest {
    private static final int SEEDS = Integer.getInteger("palisade.walk.seeds", 60);
    private static final long FIRST_SEED = Long.getLong("palisade.walk.seed", 1);
    private static final int STEPS = 400;
    /** How often so many walks reach everything at least. */
    private static final int FLOOR = Math.max(1, SEEDS * 5 / 18);

    @Test
    void everyStepOfEveryWalkIsAllowedAndEverythingIsReached() {
        Coverage coverage = new Coverage();
        for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
            try {
                new Walk(seed, LockMachine::step, coverage).run(STEPS);
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
        coverage.requireAll(FLOOR);
    }

    @Test
    void aWalkThatDoesNotGetEverywhereFails() {
        Coverage coverage = new Coverage();
        new Walk(0, LockMachine::step, coverage).run(20);
        assertThatThrownBy(() -> coverage.requireAll(FLOOR))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("reached fewer than " + FLOOR + " times");
    }
}
