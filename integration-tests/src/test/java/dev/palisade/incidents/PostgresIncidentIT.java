package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.History;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Tests some PostgreSQL incidents: their effect is visible in the tokens of a lock table, and tokens of lock servers
 * have no fault. Full runs have all kinds.
 */
@Isolated("Two databases, their standby and two lock servers: others would miss what they promise within a time.")
class PostgresIncidentIT {
    private final long seed = Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000);

    @TempDir
    private Path directory;

    @BeforeAll
    static void useTheBundledPrograms() throws Exception {
        System.setProperty(PostgresPrograms.PROPERTY, BundledPostgres.programs().toString());
    }

    @AfterAll
    static void useThoseOfTheMachine() {
        System.clearProperty(PostgresPrograms.PROPERTY);
    }

    private IncidentStatistics inject(String issuer, List<PostgresIncident> kinds) throws Exception {
        History file = History.silent("run", directory.resolve(issuer + ".jsonl"));
        IssuerUnderTest underTest = StoreUnderTest.POSTGRESQL.issuer(issuer).orElseThrow();
        Schedule<Incident<PostgresNode>> schedule = new Schedule<>(seed, List.copyOf(kinds));
        try (Campaign<PostgresNode> campaign = new Campaign<>(StoreUnderTest.POSTGRESQL, underTest, file)) {
            kinds.forEach(kind -> campaign.inject(schedule.next()));
            campaign.faults().stream().limit(5).forEach(fault -> System.out.println(issuer + ": " + fault));
            return campaign.statistics();
        }
    }

    @Test
    void tokensOfATableFallWhereRowsAreLost() throws Exception {
        List<PostgresIncident> lossless = List.of(PostgresIncident.KILLED, PostgresIncident.SYNCHRONOUS_STANDBY);
        List<PostgresIncident> lossy = List.of(PostgresIncident.LAGGING_STANDBY, PostgresIncident.TRUNCATED);
        Map<String, Counts> naive = inject(
                        "naive",
                        Stream.concat(lossless.stream(), lossy.stream()).toList())
                .byKind();
        for (PostgresIncident kind : lossless) {
            assertThat(naive.getOrDefault(kind.name(), Counts.NONE).violations())
                    .as("%s, seed %d: %s", kind, seed, naive)
                    .isZero();
        }
        for (PostgresIncident kind : lossy) {
            assertThat(naive.getOrDefault(kind.name(), Counts.NONE).violations())
                    .as("%s, seed %d: %s", kind, seed, naive)
                    .isPositive();
        }
    }

    @Test
    void tokensOfLockServersRise() throws Exception {
        Counts counts = inject("palisade", List.of(PostgresIncident.LAGGING_STANDBY, PostgresIncident.TRUNCATED))
                .all();
        assertThat(counts.violations()).as("seed %d: %s", seed, counts).isZero();
        assertThat(counts.grants()).as("seed %d", seed).isPositive();
    }
}
