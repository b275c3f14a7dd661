package dev.palisade.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.cli.term.CallerName;
import dev.palisade.client.LockDescription;
import dev.palisade.client.StoreDescription;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RunOutputTest {
    private static LockDescription heldBy(String owner) {
        HolderInfo holder = new HolderInfo(
                owner, "", new FencingToken(33), Mode.EXCLUSIVE, Duration.ZERO, Duration.ofSeconds(10), "", "");
        return new LockDescription(
                new LockName("a"), List.of(holder), 1, List.of(), 0, Duration.ZERO, Duration.ZERO, Optional.empty());
    }

    private static LockDescription recovering(List<HolderInfo> holders) {
        LockDescription.Waiter waiter = new LockDescription.Waiter(
                CallerName.process(), "", Mode.EXCLUSIVE, Duration.ofSeconds(1), false, "", "");
        StoreDescription.Epoch epoch =
                new StoreDescription.Epoch(0, Instant.EPOCH, "the log lost data", Duration.ofSeconds(7), Duration.ZERO);
        return new LockDescription(
                new LockName("y"),
                holders,
                holders.size(),
                List.of(waiter),
                1,
                Duration.ZERO,
                Duration.ZERO,
                Optional.of(epoch));
    }

    @Test
    void recoveryOfTheStoreIsNamed() {
        RunOutput output = new RunOutput(System.err, false, Clock.systemUTC());
        assertThat(output.waiting(recovering(List.of())))
                .isEqualTo("waiting for y: no lock is granted for another 7.0 s, because the store lost data;"
                        + " position 1 of 1 in the queue");
        assertThat(output.waiting(recovering(heldBy("other").holders()))).contains("held by other");
    }

    /** The message would say that the process waits for itself. */
    @Test
    void lockThatThisProcessHoldsIsNotWaitedFor() {
        assertThat(RunOutput.isHeldByThisProcess(heldBy(CallerName.process()))).isTrue();
        assertThat(RunOutput.isHeldByThisProcess(heldBy("other@host pid 1"))).isFalse();
    }
}
