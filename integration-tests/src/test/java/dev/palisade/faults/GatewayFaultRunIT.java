package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Run;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.faults.FaultRun.Finished;
import dev.palisade.scenario.Installation;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * {@link FaultRunIT} with gateways in front of a storage that compares nothing; they share a register. The process that is
 * killed as RESTART_OBJECTS is a gateway. Longer, or again: as there; {@code -Dpalisade.fault.gateways} is how many,
 * and {@code -Dpalisade.fault.register=redis} puts the register into Redis.
 */
@Execution(ExecutionMode.CONCURRENT)
class GatewayFaultRunIT {
    private static final List<Fault> DECK = List.of(
            Fault.PAUSE_HOLDER,
            Fault.PAUSE_HOLDER_UNTIL_READ,
            Fault.PAUSE_HOLDER_RESTART_OBJECTS,
            Fault.KILL_HOLDER,
            Fault.RESTART_SERVER,
            Fault.RESTART_OBJECTS,
            Fault.FREEZE_BACKEND,
            Fault.CUT_BACKEND,
            Fault.FREEZE_GUARD);
    private static final List<Fault> PAUSES = List.of(Fault.PAUSE_HOLDER, Fault.PAUSE_HOLDER_UNTIL_READ);

    private final long seed = Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000);

    @Test
    void underFaultsNothingGetsPastTheGatewaysThatBreaksAProperty(TestReporter reporter) throws Exception {
        Duration atLeast = Duration.ofSeconds(Long.getLong("palisade.fault.seconds", 0));
        int total = Integer.getInteger("palisade.fault.gateways", 3);
        try (Installation installation = Installation.fresh()) {
            Gateways front = new Gateways(installation, GatewayRegister.asAsked(), total, true, new Random(seed));
            FaultRun faults = new FaultRun(installation, seed, front, 4);
            try {
                faults.run(DECK, atLeast);
                Finished finished = faults.finish();
                Run run = finished.run();
                FaultRunIT.report(reporter, faults, finished);
                System.out.println("gateways: " + total + "; seed " + seed);

                assertThat(run.violations()).as("seed " + seed).isEmpty();
                for (Fault fault : DECK) {
                    assertThat(faults.done(fault)).as(fault.name()).isGreaterThanOrEqualTo(1);
                }
                assertThat(faults.staleAfterPause())
                        .as("pauses that ended in a refusal: all but one that a busy machine may spoil, of " + faults)
                        .isGreaterThanOrEqualTo(faults.pauses() - 1);
                assertThat(run.applied().stream().filter(AppliedCall::write)).hasSizeGreaterThanOrEqualTo(20);
                assertThat(run.marks().get(run.marks().size() - 1).byResource()).isNotEmpty();
            } catch (AssertionError | RuntimeException e) {
                throw FaultRunIT.keep(e, installation, "gateway-fault-run-" + seed);
            } finally {
                faults.close();
            }
        }
    }

    /** Two processes, one Redis: the holder that paused uses the one, its successor the other. */
    @Test
    void withRegisterInRedisPausedHoldersAreRefusedAtBothGateways(TestReporter reporter) throws Exception {
        try (Installation installation = Installation.fresh()) {
            FaultRun faults = new FaultRun(
                    installation,
                    seed,
                    new Gateways(installation, new GatewayRegisterInRedis(), 2, true, new Random(seed)),
                    2);
            try {
                faults.run(PAUSES, Duration.ZERO);
                Finished finished = faults.finish();
                FaultRunIT.report(reporter, faults, finished);
                assertThat(finished.run().violations()).as("seed " + seed).isEmpty();
                assertThat(faults.staleAfterPause()).as("of " + faults).isGreaterThanOrEqualTo(1);
            } catch (AssertionError | RuntimeException e) {
                throw FaultRunIT.keep(e, installation, "gateway-fault-run-redis-" + seed);
            } finally {
                faults.close();
            }
        }
    }

    @Test
    void throughGatewaysThatGuardNothingTheCheckersFindTheLostUpdates(TestReporter reporter) throws Exception {
        try (Installation installation = Installation.fresh()) {
            FaultRun faults = new FaultRun(
                    installation,
                    seed,
                    new Gateways(installation, GatewayRegister.asAsked(), 1, false, new Random(seed)),
                    3);
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
                throw FaultRunIT.keep(e, installation, "gateway-fault-run-open-" + seed);
            } finally {
                faults.close();
            }
        }
    }
}
