package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LostReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Neither a clock step nor a paused process extends a lease or suppresses the notification of its loss (A9). */
class ClockStepTest extends Fixture {
    private static final long VALID_MILLIS = 8_971;

    private final List<LostReason> lost = new ArrayList<>();

    @Test
    void aWallClockSteppedBackDoesNotDelayTheLoss() {
        Lease lease = held();
        lease.onLost(lost::add);
        server.fallSilent();
        time.stepWallMillis(-3_600_000);
        time.advanceMillis(VALID_MILLIS - 1);
        assertThat(lost).isEmpty();
        assertThat(lease.isValid()).isTrue();
        time.advanceMillis(1);
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
    }

    @Test
    void pausedProcessLosesItsLeaseByTimerDespiteRepliesThatWait() {
        Lease lease = held();
        lease.onLost(lost::add);
        time.passUnnoticedMillis(60_000);
        // Due tasks run late, one after another; the keep-alives among them get their replies at once.
        time.advanceMillis(0);
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
        assertThat(lease.validFor()).isEqualTo(Duration.ZERO);
    }
}
