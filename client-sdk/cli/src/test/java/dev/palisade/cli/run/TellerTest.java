package dev.palisade.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.cli.term.Person;
import dev.palisade.client.LockDescription;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class TellerTest {
    private static LockDescription heldBy(String owner) {
        HolderInfo holder = new HolderInfo(
                owner, "", new FencingToken(33), Mode.EXCLUSIVE, Duration.ZERO, Duration.ofSeconds(10), "", "");
        return new LockDescription(
                new LockName("a"), List.of(holder), 1, List.of(), 0, Duration.ZERO, Duration.ZERO, Optional.empty());
    }

    /** Its line would say that it waits for itself. */
    @Test
    void lockThatThisProcessHoldsIsNotWaitedFor() {
        assertThat(Teller.isHeldByUs(heldBy(Person.here()))).isTrue();
        assertThat(Teller.isHeldByUs(heldBy("other@host pid 1"))).isFalse();
    }
}
