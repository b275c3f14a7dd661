package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Granted;
import dev.palisade.check.Increment.Fate;
import dev.palisade.check.Run;
import dev.palisade.check.TokensRise;
import dev.palisade.check.TokensUnique;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.faults.FaultRun.Finished;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Short by default. Longer, or again: {@code -Dpalisade.fault.seconds=600 -Dpalisade.fault.seed=7}. The seed fixes which
 * faults come in which order and what each client wants; it cannot fix the scheduler.
 */
@Execution(ExecutionMode.CONCURRENT)
class FaultRunIT {
    private static final List<Fault> DECK = List.of(
            Fault.PAUSE_HOLDER,
            Fault.PAUSE_HOLDER,
            Fault.PAUSE_HOLDER_UNTIL_READ,
            Fault.PAUSE_HOLDER_UNTIL_READ,
            Fault.PAUSE_HOLDER_RESTART_OBJECTS,
            Fault.PAUSE_HOLDER_RESTART_SERVER,
            Fault.KILL_HOLDER,
            Fault.KILL_ANY_CLIENT,
            Fault.RESTART_SERVER,
            Fault.RESTART_OBJECTS);
    private static final List<Fault> PAUSES = List.of(Fault.PAUSE_HOLDER, Fault.PAUSE_HOLDER);

    private final long seed = Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000);

    @Test
    void underFaultsNoPropertyIsBroken(TestReporter reporter) throws Exception {
        Duration atLeast = Duration.ofSeconds(Long.getLong("palisade.fault.seconds", 0));
        try (Installation installation = Installation.fresh()) {
            FaultRun faults = new FaultRun(installation, seed, new SelfGuarding(installation, true), 4);
            try {
                faults.run(DECK, atLeast);
                Finished finished = faults.finish();
                Run run = finished.run();
                report(reporter, faults, finished);

                assertThat(run.violations()).as("seed " + seed).isEmpty();
                assertThat(faults.staleAfterPause())
                        .as("pauses that ended in a refusal: all but one that a busy machine may spoil, of " + faults)
                        .isGreaterThanOrEqualTo(faults.pauses() - 1);
                for (Fault fault : DECK) {
                    assertThat(faults.done(fault)).as(fault.name()).isGreaterThanOrEqualTo(1);
                }
                assertThat(run.applied().stream().filter(AppliedCall::write)).hasSizeGreaterThanOrEqualTo(100);
                assertThat(run.applied().stream().filter(AppliedCall::shared)).hasSizeGreaterThanOrEqualTo(10);
                assertThat(run.marks()).hasSizeGreaterThanOrEqualTo(3);
            } catch (AssertionError | RuntimeException | IOException e) {
                throw keep(e, installation, "fault-run-" + seed);
            } finally {
                faults.close();
            }
        }
    }

    @Test
    void withTheGuardOffTheCheckersFindTheLostUpdates(TestReporter reporter) throws Exception {
        try (Installation installation = Installation.fresh()) {
            FaultRun faults = new FaultRun(installation, seed, new SelfGuarding(installation, false), 3);
            try {
                faults.run(PAUSES, Duration.ZERO);
                Finished finished = faults.finish();
                Run run = finished.run();
                report(reporter, faults, finished);

                for (String property : List.of("P6", "P7", "P15")) {
                    assertThat(run.violations())
                            .as("seed " + seed)
                            .anySatisfy(violation -> assertThat(violation).startsWith(property + ":"));
                }
            } catch (AssertionError | RuntimeException | IOException e) {
                throw keep(e, installation, "fault-run-unguarded-" + seed);
            } finally {
                faults.close();
            }
        }
    }

    static void report(TestReporter reporter, FaultRun faults, Finished finished) {
        Run run = finished.run();
        long unknown = run.increments().stream()
                .filter(increment -> increment.fate() == Fate.UNKNOWN)
                .count();
        long stale = finished.histories().events().stream()
                .filter(event -> (is(event, "refused") || is(event, "read-failed"))
                        && text(event, "reason").equals("TOKEN_STALE"))
                .count();
        String figures = faults + "; " + run.grants().size() + " grants, "
                + run.applied().stream().filter(AppliedCall::write).count() + " writes applied, "
                + run.applied().stream().filter(AppliedCall::shared).count() + " shared reads, " + stale
                + " refusals as stale, " + unknown + " unknown, "
                + run.violations().size() + " violations";
        reporter.publishEntry("figures", figures);
        System.out.println("fault run: " + figures);
    }

    /** Leaves the histories where a person finds them, and says where, and what is wrong in them if the run got no further. */
    static Error keep(Throwable failure, Installation installation, String name) throws IOException {
        Path file = Path.of(System.getProperty("palisade.target", "target"), name + ".jsonl");
        List<String> lines = new ArrayList<>();
        try (var files = Files.list(installation.histories())) {
            for (Path history : files.sorted().toList()) {
                lines.addAll(Files.readAllLines(history));
            }
        }
        Files.write(file, lines);
        List<Granted> grants = Histories.read(installation.histories()).grants();
        List<String> said = new ArrayList<>(List.of(String.valueOf(failure.getMessage()), "histories: " + file));
        said.addAll(TokensUnique.violations(grants));
        said.addAll(TokensRise.violations(grants, List.of()));
        return new AssertionError(String.join(System.lineSeparator(), said), failure);
    }
}
