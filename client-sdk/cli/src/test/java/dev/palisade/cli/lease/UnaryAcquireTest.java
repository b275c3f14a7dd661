package dev.palisade.cli.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.RetryClock;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class UnaryAcquireTest {
    private static final Rejection STOPPING = new Rejection(Reason.OUTCOME_UNKNOWN, "the lock server is stopping");

    private final ScriptedLocks locks;

    UnaryAcquireTest() throws IOException {
        this.locks = new ScriptedLocks();
    }

    @AfterEach
    void stop() {
        locks.close();
    }

    /** Pauses end at once, and move the clock. */
    private static final class SteppedClock implements RetryClock {
        private long nanos;

        @Override
        public long nanos() {
            return nanos;
        }

        @Override
        public void pause(long millis) {
            nanos += Duration.ofMillis(millis).toNanos();
        }
    }

    private UnaryAcquire.Outcome acquire(Duration wait) throws Failed {
        return acquire(wait, Duration.ZERO);
    }

    private UnaryAcquire.Outcome acquire(Duration wait, Duration atLeastFor) throws Failed {
        try (LockServers servers = new LockServers(
                locks.address(), InsecureChannelCredentials.create(), Duration.ofSeconds(20), new SteppedClock())) {
            AcquireRequest request = AcquireRequest.newBuilder()
                    .setLock("x")
                    .setRequestId(LeaseCredential.REQUEST_ID)
                    .setWaitMillis(wait.toMillis())
                    .setLockAtLeastForMillis(atLeastFor.toMillis())
                    .build();
            return new UnaryAcquire(servers, request).acquire();
        }
    }

    /** The server of the broken call may leave it at any later time, so nothing granted may have its session. */
    @Test
    void brokenCallIsLeftAndRepeatedInAnotherSession() throws Exception {
        locks.next(ScriptedLocks.BROKEN);
        UnaryAcquire.Outcome outcome = acquire(Duration.ofMinutes(1));
        assertThat(locks.calls()).containsExactly("acquire 1", "leave 1", "acquire 2", "renew 2");
        assertThat(locks.session(2)).isEqualTo(outcome.credential().session());
        assertThat(outcome.remainingMillis()).isEqualTo(60_000);
    }

    @Test
    void brokenTryIsLeftAndRepeatedInAnotherSession() throws Exception {
        locks.next(ScriptedLocks.BROKEN);
        assertThat(acquire(Duration.ZERO).reply().hasGranted()).isTrue();
        assertThat(locks.calls()).containsExactly("acquire 1", "leave 1", "acquire 2");
    }

    @Test
    void rightToAcquireIsEnough() throws Exception {
        locks.denyDescribe();
        locks.next(ScriptedLocks.BROKEN);
        assertThat(acquire(Duration.ZERO).reply().hasGranted()).isTrue();
        assertThat(locks.calls()).containsExactly("acquire 1", "leave 1", "acquire 2");
    }

    /** The reply to a try has another form. */
    @Test
    void repetitionAfterTheWaitIsNoTry() throws Exception {
        locks.next(ScriptedLocks.BROKEN);
        var unused = acquire(Duration.ofMillis(100));
        assertThat(locks.waits()).containsExactly(100L, 1L);
    }

    @Test
    void replyWithoutADecisionKeepsThePositionInTheQueue() throws Exception {
        locks.next(STOPPING);
        assertThat(acquire(Duration.ofMinutes(1)).reply().hasGranted()).isTrue();
        assertThat(locks.calls()).containsExactly("acquire 1", "acquire 1", "renew 1");
    }

    /** As while its process is started again: every call fails at once. */
    @Test
    void serverThatRestartsIsWaitedFor() throws Exception {
        locks.next(ScriptedLocks.BROKEN);
        for (int i = 0; i < 100; i++) {
            locks.next(ScriptedLocks.REFUSED);
        }
        assertThat(acquire(Duration.ofMinutes(1)).reply().hasGranted()).isTrue();
        assertThat(locks.calls()).hasSize(104).endsWith("leave 1", "acquire 2", "renew 2");
    }

    @Test
    void serverThatRestartsAfterTheGrantIsWaitedFor() throws Exception {
        locks.next(ScriptedLocks.granted("x"));
        locks.next(ScriptedLocks.REFUSED);
        assertThat(acquire(Duration.ofMinutes(1)).reply().hasGranted()).isTrue();
        assertThat(locks.calls()).containsExactly("acquire 1", "renew 1", "renew 1");
    }

    @Test
    void serverThatStaysAwayEndsTheWaitWithAnUnknownOutcome() {
        locks.next(ScriptedLocks.BROKEN);
        for (int i = 0; i < 1_000; i++) {
            locks.next(ScriptedLocks.REFUSED);
        }
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ofMinutes(1)))
                .withMessageEndingWith("; if the lock was granted, it is free again when its lease expires")
                .extracting(Failed::exitCode)
                .isEqualTo(ExitCodes.NO_ANSWER);
        assertThat(locks.calls()).hasSizeBetween(250, 350).doesNotContain("acquire 2");
    }

    @Test
    void tryDoesNotWaitForAServer() {
        locks.next(ScriptedLocks.BROKEN);
        for (int i = 0; i < 10; i++) {
            locks.next(ScriptedLocks.REFUSED);
        }
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ZERO))
                .extracting(Failed::exitCode)
                .isEqualTo(ExitCodes.NO_ANSWER);
        assertThat(locks.calls()).containsExactly("acquire 1", "leave 1", "leave 1");
    }

    @Test
    void rejectedRepetitionIsLeftBecauseTheFirstRequestMayWait() {
        locks.next(STOPPING);
        locks.next(new Rejection(Reason.QUEUE_FULL, "scripted"));
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ofMinutes(1)))
                .withMessage("QUEUE_FULL: scripted");
        assertThat(locks.calls()).containsExactly("acquire 1", "acquire 1", "leave 1");
    }

    @Test
    void rejectedRequestLeavesNothing() {
        locks.next(new Rejection(Reason.QUEUE_FULL, "scripted"));
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ofMinutes(1)))
                .withMessage("QUEUE_FULL: scripted");
        assertThat(locks.calls()).containsExactly("acquire 1");
    }

    @Test
    void requestThatCannotBeLeftEndsWithAnUnknownOutcome() {
        locks.next(ScriptedLocks.BROKEN);
        Rejection refused = new Rejection(Reason.LIMIT_EXCEEDED, "scripted");
        locks.next(refused);
        locks.next(refused);
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ofMinutes(1)))
                .withMessageEndingWith("; if the lock was granted, it is free again when its lease expires");
        assertThat(locks.calls()).doesNotContain("acquire 2");
    }

    @Test
    void leaseThatCannotBeRenewedAfterItsWaitIsLeft() {
        locks.next(ScriptedLocks.granted("x"));
        locks.next(new Rejection(Reason.LEASE_EXPIRED, "scripted"));
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ofMinutes(1)))
                .withMessage("LEASE_EXPIRED: scripted");
        assertThat(locks.calls()).containsExactly("acquire 1", "renew 1", "leave 1");
    }

    @Test
    void replyThatCannotBeReadIsLeft() {
        locks.next(AcquireReply.getDefaultInstance());
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ZERO))
                .withMessage("the reply to acquire cannot be read");
        assertThat(locks.calls()).containsExactly("acquire 1", "leave 1");
    }

    /** A server from before the minimum hold time reads nothing of it, and grants. */
    @Test
    void grantWithoutTheMinimumHoldTimeIsGivenBack() {
        locks.next(ScriptedLocks.granted("x"));
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ZERO, Duration.ofMinutes(1)))
                .withMessage("the lock server does not know --at-least-for; upgrade it, or leave it out");
        assertThat(locks.calls()).containsExactly("acquire 1", "leave 1");
    }

    @Test
    void aServerThatCouldNotDecideIsQuotedWhenTheTimeIsOver() {
        Rejection recovering = new Rejection(Reason.RECOVERING, "no new grant for 9000 ms");
        for (long paused = 0; paused < Duration.ofSeconds(20).toMillis(); paused += UnaryAcquire.RETRY_MILLIS) {
            locks.next(recovering);
        }
        locks.next(Status.DEADLINE_EXCEEDED); // The last call had no time left.
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> acquire(Duration.ZERO))
                .withMessageContaining("RECOVERING: no new grant for 9000 ms")
                .satisfies(failed -> assertThat(failed.reason()).isEqualTo("RECOVERING"));
    }
}
