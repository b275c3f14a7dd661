package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call.CallCase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReenterTest extends Fixture {
    private final List<String> told = new ArrayList<>();

    @Test
    void handlesShareTheGrantAndTheLastToCloseReleasesIt() {
        Lease first = held();
        Lease second = first.reenter();
        Lease third = second.reenter();
        assertThat(List.of(second.token(), third.token())).containsOnly(first.token());
        assertThat(third.sequencer()).isEqualTo(first.sequencer());
        assertThat(third.grant()).isEqualTo(first.grant());
        assertThat(count(CallCase.ACQUIRE)).isEqualTo(1);

        assertThat(first.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        third.close();
        assertThat(count(CallCase.RELEASE)).isZero();
        assertThat(second.isValid()).isTrue();
        assertThat(second.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void closingOneHandleTwiceTakesNothingFromTheOthers() {
        Lease first = held();
        Lease second = first.reenter();
        Lease third = first.reenter();
        for (int i = 0; i < 3; i++) {
            assertThat(first.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        }
        assertThat(second.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(third.isValid()).isTrue();
        assertThat(count(CallCase.RELEASE)).isZero();
    }

    @Test
    void aClosedHandleIsDeadWhileTheOthersLive() throws InterruptedException {
        Lease first = held();
        Lease second = first.reenter();
        first.close();
        assertThat(first.isValid()).isFalse();
        assertThat(first.validFor()).isEqualTo(Duration.ZERO);
        assertThat(second.validFor()).isPositive();
        assertThatThrownBy(first::reenter)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(() -> first.ensureValidFor(Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
        second.ensureValidFor(Duration.ofSeconds(1));
    }

    @Test
    void allHandlesAreRenewedTogetherAndLostTogether() {
        Lease first = held();
        Lease second = first.reenter();
        time.advanceMillis(60_000);
        assertThat(second.isValid()).isTrue();
        first.onLost(why -> told.add("first " + why));
        second.onLost(why -> told.add("second " + why));
        server.fallSilent();
        time.advanceMillis(9_000);
        assertThat(told)
                .containsExactly("first " + LostReason.SERVER_UNREACHABLE, "second " + LostReason.SERVER_UNREACHABLE);
        assertThat(second.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void closedHandleIsNotNotifiedOfALossOrAReleaseRequest() {
        Lease first = held();
        Lease second = first.reenter();
        first.onLost(why -> told.add("first"));
        first.onReleaseRequested(asked -> told.add("first asked"));
        second.onLost(why -> told.add("second"));
        first.close();
        first.onLost(why -> told.add("first, late"));
        ((LeaseHandle) second).lease().releaseRequested(new Lease.ReleaseRequest("ops", "moving"));
        server.fallSilent();
        time.advanceMillis(9_000);
        assertThat(told).containsExactly("second");
        assertThat(second.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        assertThat(first.lostReason()).isEmpty();
        assertThat(first.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
    }

    @Test
    void lostLeaseCannotBeReentered() {
        Lease first = held();
        Lease second = first.reenter();
        time.passUnnoticedMillis(9_000);
        assertThatThrownBy(second::reenter)
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.reason()).isEqualTo(LostReason.SERVER_UNREACHABLE));
        assertThat(first.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aGrantWhoseLastHandleIsClosedTakesNoMore() {
        Lease first = held();
        GrantedLease grant = ((LeaseHandle) first).lease();
        Lease second = first.reenter();
        first.close();
        second.close();
        assertThat(grant.addHandle()).isFalse();
        assertThat(grant.addHandle()).as("still none").isFalse();
    }
}
