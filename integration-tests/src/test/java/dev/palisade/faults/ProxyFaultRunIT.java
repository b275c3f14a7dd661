package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Run;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.faults.FaultRun.Finished;
import dev.palisade.scenario.Installation;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * {@link FaultRunIT} with a guard in a proxy. The storage compares no tokens, and its log shows which calls were
 * applied. Here RESTART_OBJECTS kills the proxy. For longer runs and repetitions see there.
 */
@Execution(ExecutionMode.CONCURRENT)
class ProxyFaultRunIT {
    private static final List<Fault> DECK = List.of(
            Fault.PAUSE_HOLDER,
            Fault.PAUSE_HOLDER_UNTIL_READ,
            Fault.PAUSE_HOLDER_RESTART_OBJECTS,
            Fault.PAUSE_HOLDER_RESTART_SERVER,
            Fault.KILL_HOLDER,
            Fault.KILL_ANY_CLIENT,
            Fault.RESTART_SERVER,
            Fault.RESTART_OBJECTS,
            Fault.FREEZE_BACKEND,
            Fault.SLOW_BACKEND,
            Fault.CUT_BACKEND);
    private static final List<Fault> PAUSES = List.of(Fault.PAUSE_HOLDER, Fault.PAUSE_HOLDER_UNTIL_READ);

    private final long seed = Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000);

    @Test
    void noPropertyBreaksUnderFaults(TestReporter reporter) throws Exception {
        Duration atLeast = Duration.ofSeconds(Long.getLong("palisade.fault.seconds", 0));
        try (Installation installation = Installation.fresh()) {
            ProxiedStorage front = new ProxiedStorage(installation);
            FaultRun faults = new FaultRun(installation, seed, front, 4);
            try {
                faults.run(DECK, atLeast);
                Finished finished = faults.finish();
                Run run = finished.run();
                FaultRunIT.report(reporter, faults, finished);
                System.out.println("proxy: " + front.count("outcome-unknown") + " calls with an unknown outcome, saw "
                        + front.count("seen-again") + " of them end, started " + front.count("open") + " times; seed "
                        + seed);

                assertThat(run.violations()).as("seed " + seed).isEmpty();
                assertThat(faults.staleAfterPause())
                        .as("pauses that ended in a refusal: all but one that a busy machine may spoil, of " + faults)
                        .isGreaterThanOrEqualTo(faults.pauses() - 1);
                for (Fault fault : DECK) {
                    assertThat(faults.done(fault)).as(fault.name()).isGreaterThanOrEqualTo(1);
                }
                assertThat(front.count("outcome-unknown"))
                        .as("calls with an unknown outcome")
                        .isGreaterThanOrEqualTo(3);
                assertThat(front.count("seen-again")).as("late ends").isGreaterThanOrEqualTo(1);
                assertThat(finished.histories().events())
                        .as("refusals")
                        .anyMatch(event -> (is(event, "refused") || is(event, "read-failed"))
                                && text(event, "reason").equals("TOKEN_STALE"));
                assertThat(run.applied().stream().filter(AppliedCall::write)).hasSizeGreaterThanOrEqualTo(50);
                assertThat(run.applied().stream().filter(AppliedCall::shared)).hasSizeGreaterThanOrEqualTo(5);
                assertThat(run.marks().get(run.marks().size() - 1).byResource()).isNotEmpty();
            } catch (AssertionError | RuntimeException e) {
                throw FaultRunIT.keep(e, installation, "proxy-fault-run-" + seed);
            } finally {
                faults.close();
            }
        }
    }

    @Test
    void checkersFindLostUpdatesWithoutAGuard(TestReporter reporter) throws Exception {
        try (Installation installation = Installation.fresh()) {
            FaultRun faults = new FaultRun(installation, seed, new ProxiedStorage(installation, "--guard", "off"), 3);
            try {
                faults.run(PAUSES, Duration.ZERO);
                Finished finished = faults.finish();
                FaultRunIT.report(reporter, faults, finished);

                for (String property : List.of("P6", "P7", "P15")) {
                    assertThat(finished.run().violations())
                            .as("seed " + seed)
                            .anySatisfy(violation -> assertThat(violation).startsWith(property + ":"));
                }
            } catch (AssertionError | RuntimeException e) {
                throw FaultRunIT.keep(e, installation, "proxy-fault-run-open-" + seed);
            } finally {
                faults.close();
            }
        }
    }
}
