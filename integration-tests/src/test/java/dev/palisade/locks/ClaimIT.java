package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Child;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A write that was on its way when its holder was stopped, and comes when the next holder has the lock and has not used it
 * yet: what claiming is for.
 */
@Execution(ExecutionMode.CONCURRENT)
class ClaimIT {
    private static final String LOCK = "job/1";
    private static final long FORMER_TTL_MILLIS = 2_000;

    private final House house = new House();
    private final Child former = house.actor("former");
    private final Child next = house.actor("next");

    @AfterEach
    void close() {
        house.close();
    }

    @Test
    void onceAClaimingAcquireHasReturnedAFormerHoldersWriteIsStaleThoughNobodyHasUsedTheLockSince() {
        long token = House.acquire(former, LOCK, FORMER_TTL_MILLIS);

        long newer = theNextOneAcquiresWhileTheFormerIsStopped("acquire-claiming");

        assertThat(former.ask("go"))
                .startsWith("refused TOKEN_STALE presented=" + token + " mark=" + newer + " applied=no");
        assertThat(next.ask("look " + LOCK)).as("nothing was written").isEqualTo("read 0 ");
        assertThat(next.ask("write " + LOCK + " mine")).isEqualTo("written 1");
    }

    @Test
    void withoutTheClaimThatWriteIsApplied() {
        House.acquire(former, LOCK, FORMER_TTL_MILLIS);

        theNextOneAcquiresWhileTheFormerIsStopped("acquire");

        assertThat(former.ask("go")).isEqualTo("written 1");
    }

    private long theNextOneAcquiresWhileTheFormerIsStopped(String verb) {
        assertThat(former.ask("prepare " + LOCK + " late")).isEqualTo("prepared");
        house.queue(next, verb, LOCK, 10_000, 1);
        former.pause();
        long newer = House.awaitGrant(next);
        former.resume();
        return newer;
    }
}
