package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.Call.CallCase;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A release without a waiting thread. */
class ReleaseAsyncTest extends Fixture {
    @Test
    void theFutureIsDoneWhenTheServerHasAnsweredAndTheLeaseIsOverBefore() {
        Lease lease = held();
        server.script = call -> null;
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
        assertThat(lease.isValid()).isFalse();
        assertThat(released).isNotDone();
        server.link().answer(last(CallCase.RELEASE), server.grantAll(last(CallCase.RELEASE)));
        assertThat(released).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void withOtherHandlesOpenNothingIsSent() {
        Lease first = held();
        Lease second = first.reenter();
        assertThat(first.releaseAsync()).isCompletedWithValue(ReleaseOutcome.STILL_HELD);
        assertThat(count(CallCase.RELEASE)).isZero();
        assertThat(second.releaseAsync()).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    @Test
    void whatIsLostCannotBeReleased() {
        Lease lease = held();
        server.fallSilent();
        time.advance(Duration.ofSeconds(11));
        assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aServerThatSaysNothingLeavesItUnknownWhenTheLeaseWouldHaveEnded() {
        Lease lease = held();
        server.script = call -> null;
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
        time.advance(Duration.ofSeconds(4));
        assertThat(released).isNotDone();
        time.advance(Duration.ofSeconds(7));
        assertThat(released).isCompletedWithValue(ReleaseOutcome.UNKNOWN);
    }

    @Test
    void cancellingTheFutureTakesNothingBack() {
        Lease lease = held();
        server.script = call -> null;
        lease.releaseAsync().cancel(true);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(lease.isValid()).isFalse();
    }
}
