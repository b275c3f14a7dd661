package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.History;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests each Redis incident: its effect is visible in the tokens of a careful script, and tokens of lock servers have
 * no fault.
 */
@Execution(ExecutionMode.CONCURRENT)
class IncidentIT {
    /** No counter is lost. The script reads no clock, and has no lock server that could be paused. */
    private static final Set<RedisIncident> HARMLESS_TO_A_COUNTER = EnumSet.of(
            RedisIncident.SERVER_PAUSED,
            RedisIncident.SERVERS_PAUSED_IN_TURN,
            RedisIncident.FUNCTIONS_FLUSHED,
            RedisIncident.LIBRARIES_REPLACED,
            RedisIncident.CLOCK_FORWARD,
            RedisIncident.CLOCK_BACK,
            RedisIncident.PUBLISHED_IS_LOST,
            RedisIncident.LINK_FROZEN,
            RedisIncident.REPLIES_LOST);

    private final long seed = Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000);

    @TempDir
    private Path directory;

    private Counts happens(RedisIncident kind, String issuer) throws Exception {
        Optional<String> missing = kind.needsPreload() ? RedisIncident.preloadMissing() : Optional.empty();
        Assumptions.assumeTrue(missing.isEmpty(), () -> kind + ": left out, " + missing.orElseThrow());
        Schedule<Incident<RedisNode>> schedule = new Schedule<>(seed, List.of(kind));
        History file = History.silent("run", directory.resolve(issuer + ".jsonl"));
        try (Campaign<RedisNode> campaign = new Campaign<>(
                StoreUnderTest.REDIS, StoreUnderTest.REDIS.issuer(issuer).orElseThrow(), file)) {
            campaign.inject(schedule.next());
            campaign.faults().stream().limit(5).forEach(fault -> System.out.println(issuer + ": " + fault));
            return campaign.statistics().all();
        }
    }

    static Stream<RedisIncident> onEachRedis() {
        return Arrays.stream(RedisIncident.values()).filter(kind -> !kind.needsPreload());
    }

    static Stream<RedisIncident> withPreload() {
        return Arrays.stream(RedisIncident.values()).filter(RedisIncident::needsPreload);
    }

    @ParameterizedTest
    @MethodSource("onEachRedis")
    void aCounterFallsWhereItIsLost(RedisIncident kind) throws Exception {
        assertCounterFalls(kind);
    }

    /** Apart, so that CI can run only these where the others have run. */
    @ParameterizedTest
    @MethodSource("withPreload")
    void aCounterFallsWhereClockAndDiskFail(RedisIncident kind) throws Exception {
        assertCounterFalls(kind);
    }

    private void assertCounterFalls(RedisIncident kind) throws Exception {
        Counts naive = happens(kind, "naive");
        assertThat(naive.grants()).as("%s, seed %d", kind, seed).isGreaterThan(30);
        if (kind == RedisIncident.CLOCK_AHEAD_THEN_PROMOTED) {
            return; // Its last tokens may or may not have come to the replica.
        }
        if (HARMLESS_TO_A_COUNTER.contains(kind)) {
            assertThat(naive.violations())
                    .as("%s, seed %d: %s", kind, seed, naive)
                    .isZero();
        } else {
            assertThat(naive.violations())
                    .as("%s, seed %d: %s", kind, seed, naive)
                    .isPositive();
        }
    }

    /** Lock servers as processes, one of them active; the runs behind the page of incidents have all kinds. */
    @ParameterizedTest
    @CsvSource({
        "palisade, KEYS_DELETED",
        "palisade, SPLIT_BRAIN_RELOADED",
        "palisade, SERVER_PAUSED_AND_ALL_LOST",
        "palisade, OLD_BACKUP",
        "palisade, BACK_AT_ONCE",
        "palisade-resume, FLUSHED",
        "palisade-resume, LAGGING_REPLICA"
    })
    void tokensOfLockServersRise(String issuer, RedisIncident kind) throws Exception {
        Counts counts = happens(kind, issuer);
        assertThat(counts.violations())
                .as("%s, seed %d: %s", kind, seed, counts)
                .isZero();
        assertThat(counts.grants()).as("%s, seed %d", kind, seed).isPositive();
    }
}
