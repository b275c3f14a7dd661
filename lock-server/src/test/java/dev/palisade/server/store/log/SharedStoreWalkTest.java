package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random walks over a shared log, each answer judged. {@code -Dpalisade.walk.seeds=1000} walks further; after a failure
 * {@code -Dpalisade.walk.trace=100000} shows all steps.
 */
class SharedStoreWalkTest {
    private static final int SEEDS = Integer.getInteger("palisade.walk.seeds", 60);
    private static final long FIRST_SEED = Long.getLong("palisade.walk.seed", 1);
    private static final int STEPS = 400;
    /** How often so many walks reach each of these at least. */
    private static final int FLOOR = SEEDS / 20;

    private static final List<String> ALL = List.of(
            "granted",
            "accepted",
            "failed",
            "read all",
            "read the rest",
            "compared",
            "LOST",
            "UNANSWERED",
            "DELAYED",
            "REPEATED",
            "REFUSED");
    private static final List<String> LOSSES =
            List.of("flushed", "promoted", "restored", "restarted", "batches deleted", "recovering", "reclaimed");

    @ParameterizedTest
    @EnumSource
    void noPromiseIsBroken(SharedStoreWalk.Profile profile) {
        Map<String, Integer> reached = new TreeMap<>();
        for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
            try {
                new SharedStoreWalk(profile, seed, reached).run(STEPS);
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
        List<String> wanted = new ArrayList<>(ALL);
        if (profile.loses) {
            wanted.addAll(LOSSES);
        }
        assertThat(wanted)
                .as("reached fewer than %d times; all: %s", FLOOR, reached)
                .filteredOn(what -> reached.getOrDefault(what, 0) < FLOOR)
                .isEmpty();
    }
}
