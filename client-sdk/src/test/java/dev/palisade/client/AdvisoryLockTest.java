package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Reply;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What users of java.util.concurrent expect of a lock, and what is different because a lease can be lost. */
@Timeout(60)
@SuppressWarnings("LockNotBeforeTry") // When and how often unlock is called is what is tested.
class AdvisoryLockTest extends Fixture {
    private final AdvisoryLock lock = client.advisoryLock(LOCK, TRY);

    @AfterEach
    void noInterruptIsLeft() {
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void theSameThreadLocksAgainWithoutAskingAndUnlocksAsOften() {
        lock.lock();
        client.advisoryLock(LOCK, TRY).lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(count(CallCase.ACQUIRE)).isEqualTo(1);
        lock.unlock();
        lock.unlock();
        assertThat(count(CallCase.RELEASE)).isZero();
        assertThat(lock.lease().isValid()).isTrue();
        lock.unlock();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(lock::lease).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void anotherThreadNeitherUnlocksNorReenters() throws Exception {
        lock.lock();
        Thread other = new Thread(() -> {
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThatThrownBy(lock::lease).isInstanceOf(IllegalMonitorStateException.class);
            server.script = call -> busy();
            assertThat(lock.tryLock()).isFalse();
            server.script = server::grantAll;
        });
        CompletableFuture<Throwable> failed = new CompletableFuture<>();
        other.setUncaughtExceptionHandler((thread, failure) -> failed.complete(failure));
        other.start();
        other.join();
        assertThat(failed).isNotDone();
        assertThat(count(CallCase.ACQUIRE)).isEqualTo(2);
        lock.unlock();
    }

    @Test
    void aServerThatDoesNotLetItWaitIsNoReasonToReturnWithoutTheLock() {
        server.script = call -> busy();
        assertThatThrownBy(lock::lock).isInstanceOf(LockNotAcquiredException.class);
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(LockNotAcquiredException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void lockWaitsThroughAnInterruptAndKeepsTheFlag() {
        server.script = server::queueAll;
        Thread me = Thread.currentThread();
        Thread helper = new Thread(() -> {
            awaitAcquire();
            me.interrupt();
            offerFresh();
        });
        helper.start();
        lock.lock();
        assertThat(lock.lease().isValid()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
        lock.unlock();
        assertThat(count(CallCase.LEAVE)).isZero();
    }

    @Test
    void lockInterruptiblyLeavesTheQueue() {
        server.script = server::queueAll;
        Thread me = Thread.currentThread();
        new Thread(() -> {
                    awaitAcquire();
                    me.interrupt();
                })
                .start();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        assertThat(count(CallCase.LEAVE)).isEqualTo(1);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void interruptedThreadSendsNothing() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(count(CallCase.ACQUIRE)).isZero();
        Thread.currentThread().interrupt();
        assertThat(lock.tryLock()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
        lock.unlock();
    }

    @Test
    void aTryThatFindsTheLockTakenIsFalseAndATimedOneIsFalseInTheEnd() throws Exception {
        server.script = call -> busy();
        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryLock(-1, TimeUnit.SECONDS)).isFalse();
        assertThat(last(CallCase.ACQUIRE).getAcquire().getWaitMillis()).isZero();
        server.script = call -> call.hasAcquire() ? ScriptedServer.timedOut() : server.grantAll(call);
        assertThat(lock.tryLock(2, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(last(CallCase.ACQUIRE).getAcquire().getWaitMillis()).isEqualTo(2);
    }

    @Test
    void aServerThatCannotSayIsNotAFalse() {
        server.script = call -> call.hasAcquire() ? ScriptedServer.rejected("LIMIT_EXCEEDED") : server.grantAll(call);
        assertThatThrownBy(lock::tryLock).isInstanceOf(LockUnavailableException.class);
        assertThatThrownBy(lock::lock).isInstanceOf(LockUnavailableException.class);
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void lossIsThrownByLockAndEachUnlockUntilAllHoldsAreGone() {
        lock.lock();
        lock.lock();
        time.passUnnoticedMillis(9_000);
        assertThatThrownBy(lock::lock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.reason()).isEqualTo(LostReason.SERVER_UNREACHABLE));
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        time.advanceMillis(100);
        lock.lock();
        lock.unlock();
    }

    @Test
    void lossThatOnlyTheServerKnowsOfIsThrownByUnlock() {
        lock.lock();
        server.script = call -> call.hasRelease() ? ScriptedServer.rejected("LEASE_EXPIRED") : server.grantAll(call);
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void thereAreNoConditionsAndNoSharedAdvisoryLocks() {
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> client.advisoryLock(LOCK, TRY.shared())).isInstanceOf(IllegalArgumentException.class);
    }

    private void awaitAcquire() {
        Awaitility.await().until(() -> count(CallCase.ACQUIRE) == 1);
    }

    private static Reply.Builder busy() {
        return Reply.newBuilder().setAcquire(AcquireReply.newBuilder().setBusy(Busy.getDefaultInstance()));
    }
}
