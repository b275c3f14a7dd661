package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Reply;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LockedRunTest extends Fixture {
    @AfterEach
    void noInterruptIsLeft() {
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void workRunsUnderTheLeaseWhichIsReleasedThen() throws IOException, InterruptedException {
        String result = client.<String, IOException>callLocked(LOCK, TRY, lease -> {
            assertThat(lease.isValid()).isTrue();
            assertThat(count(CallCase.RELEASE)).isZero();
            return "done " + lease.lock();
        });
        assertThat(result).isEqualTo("done " + LOCK);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        client.runLocked(LOCK, TRY, lease -> assertThat(lease.isValid()).isTrue());
        assertThat(count(CallCase.RELEASE)).isEqualTo(2);
    }

    @Test
    void workThatThrowsReleasesTooAndItsExceptionIsTheAnswer() {
        IOException thrown = new IOException("the work's");
        assertThatThrownBy(() -> client.runLocked(LOCK, TRY, lease -> {
                    throw thrown;
                }))
                .isSameAs(thrown)
                .hasNoSuppressedExceptions();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void aLossIsReportedAfterTheWorkHasEnded() {
        LeaseLostException lost = catchThrowableOfType(
                LeaseLostException.class,
                () -> client.callLocked(LOCK, TRY.interruptOnLoss(false), lease -> {
                    time.passUnnoticedMillis(9_000);
                    assertThat(Thread.currentThread().isInterrupted()).isFalse();
                    return "written";
                }));
        assertThat(lost.lock()).isEqualTo(new LockName(LOCK));
        assertThat(lost.reason()).isEqualTo(LostReason.SERVER_UNREACHABLE);
        assertThat(lost).hasMessageContaining("may be unprotected");
    }

    @Test
    void lossThatOnlyTheServerKnowsOfIsThrownToo() {
        LeaseLostException lost = catchThrowableOfType(
                LeaseLostException.class,
                () -> client.callLocked(LOCK, TRY, lease -> {
                    server.script = call ->
                            call.hasRelease() ? ScriptedServer.rejected("LEASE_EXPIRED") : server.grantAll(call);
                    return "written";
                }));
        assertThat(lost.reason()).isEqualTo(LostReason.SERVER_UNREACHABLE);
    }

    @Test
    void whatTheWorkThrowsComesBeforeTheLoss() {
        IllegalStateException thrown = new IllegalStateException("the work's");
        assertThatThrownBy(() -> client.runLocked(LOCK, TRY, lease -> {
                    time.passUnnoticedMillis(9_000);
                    throw thrown;
                }))
                .isSameAs(thrown)
                .satisfies(e -> assertThat(e.getSuppressed()).singleElement().isInstanceOf(LeaseLostException.class));
    }

    @Test
    @Timeout(60)
    void aThreadThatIsBlockedIsInterruptedAtTheDeadlineAndKeepsNoFlag() {
        server.fallSilent();
        CountDownLatch working = new CountDownLatch(1);
        Thread clock = new Thread(() -> {
            try {
                working.await();
                time.advanceMillis(9_000);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        clock.start();
        assertThatThrownBy(() -> client.runLocked(LOCK, TRY, lease -> {
                    working.countDown();
                    new CountDownLatch(1).await();
                }))
                .isInstanceOf(InterruptedException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).singleElement().isInstanceOf(LeaseLostException.class));
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void anInterruptThatTheWorkDidNotNoticeDoesNotOutlastIt() {
        server.fallSilent();
        assertThatThrownBy(() -> client.runLocked(LOCK, TRY, lease -> {
                    time.advanceMillis(9_000);
                    assertThat(Thread.currentThread().isInterrupted()).isTrue();
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void interruptByAnotherThreadOutlastsTheWork() throws InterruptedException {
        client.runLocked(LOCK, TRY, lease -> Thread.currentThread().interrupt());
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptThatWasPendingAtTheLossOutlastsTheWork() {
        server.fallSilent();
        assertThatThrownBy(() -> client.runLocked(LOCK, TRY, lease -> {
                    Thread.currentThread().interrupt();
                    time.advanceMillis(9_000);
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptAfterTheWorkHasMetThatOfTheLossOutlastsTheWork() {
        server.fallSilent();
        assertThatThrownBy(() -> client.runLocked(LOCK, TRY, lease -> {
                    time.advanceMillis(9_000);
                    try {
                        new CountDownLatch(1).await();
                    } finally {
                        Thread.currentThread().interrupt();
                    }
                }))
                .isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void lossAfterTheWorkInterruptsNoThread() throws InterruptedException {
        Lease[] kept = new Lease[1];
        client.runLocked(LOCK, TRY, lease -> kept[0] = lease.reenter());
        assertThat(count(CallCase.RELEASE)).isZero();
        server.fallSilent();
        time.advanceMillis(9_000);
        assertThat(kept[0].lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void workThatHasReleasedEarlyHasLostNothing() throws InterruptedException {
        client.runLocked(LOCK, TRY, Lease::close);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void withoutTheLockTheWorkIsNotBegun() {
        server.script =
                call -> Reply.newBuilder().setAcquire(AcquireReply.newBuilder().setBusy(Busy.getDefaultInstance()));
        assertThatThrownBy(() -> client.runLocked(LOCK, AcquireOptions.waiting(Duration.ZERO), lease -> {
                    throw new AssertionError("begun");
                }))
                .isInstanceOf(LockNotAcquiredException.class);
    }
}
