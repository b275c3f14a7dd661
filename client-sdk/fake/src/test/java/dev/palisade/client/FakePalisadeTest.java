package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LostReason;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What only a fake can: time that is moved by hand, and faults at a word. That it is like a real service is the
 * contract's to show.
 */
@Timeout(60)
class FakePalisadeTest {
    private static final String LOCK = "orders/42";
    private static final AcquireOptions TRY = AcquireOptions.trying();

    private final FakePalisade fake = FakePalisade.start();
    private final PalisadeClient a = fake.client("a");
    private final PalisadeClient b = fake.client("b");
    private final List<String> told = new ArrayList<>();

    @AfterEach
    void close() {
        fake.close();
    }

    private static Lease leaseOf(AcquireResult result) {
        assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        return ((AcquireResult.Granted) result).lease();
    }

    @Test
    void timeStandsUntilItIsMovedAndLeasesAreRenewedMeanwhile() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        Instant start = fake.now();
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(9_970));
        fake.advance(Duration.ofHours(1));
        assertThat(fake.now()).isEqualTo(start.plus(Duration.ofHours(1)));
        assertThat(lease.isValid()).isTrue();
        assertThat(fake.describe(LOCK).holders()).singleElement().satisfies(by -> {
            assertThat(by.owner()).isEqualTo("a");
            assertThat(by.token()).isEqualTo(lease.token());
        });
    }

    @Test
    void aWaitOfTheDrivingThreadTakesItsTimeOfTheFakeOnly() throws InterruptedException {
        try (Lease held = fake.hold(LOCK)) {
            Instant start = fake.now();
            assertThat(a.tryAcquire(LOCK, AcquireOptions.waiting(Duration.ofMinutes(5))))
                    .isInstanceOf(AcquireResult.TimedOut.class);
            assertThat(Duration.between(start, fake.now())).isBetween(Duration.ofMinutes(5), Duration.ofSeconds(301));
            assertThat(held.isValid()).isTrue();
        }
    }

    @Test
    void waitThatNothingCanEndThrows() throws InterruptedException {
        fake.hold(LOCK);
        assertThatThrownBy(() -> a.acquire(LOCK))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("another thread");
    }

    @Test
    void waitForAFutureThatNeverCompletesThrowsAndTimeStands() {
        Instant start = fake.now();
        CompletableFuture<Object> never = a.acquireAsync(LOCK, TRY).thenCompose(result -> {
            leaseOf(result).close();
            return new CompletableFuture<>();
        });
        assertThatThrownBy(never::join).isInstanceOf(IllegalStateException.class);
        assertThat(fake.now()).isBefore(start.plus(Duration.ofDays(1)));
    }

    @Test
    void anotherThreadWaitsUntilTheTestLetsGo() throws Exception {
        Lease held = fake.hold(LOCK);
        CountDownLatch asked = new CountDownLatch(1);
        CompletableFuture<Lease> granted = new CompletableFuture<>();
        Thread worker = new Thread(() -> {
            CompletableFuture<AcquireResult> waiting =
                    b.acquireAsync(LOCK, AcquireOptions.waiting(Duration.ofMinutes(1)));
            asked.countDown();
            granted.complete(leaseOf(waiting.join()));
        });
        worker.start();
        asked.await();
        assertThat(fake.describe(LOCK).waiters())
                .singleElement()
                .satisfies(by -> assertThat(by.owner()).isEqualTo("b"));
        held.close();
        assertThat(granted.get(60, TimeUnit.SECONDS).isValid()).isTrue();
    }

    @Test
    void aSilencedClientLosesItsLeaseByItsOwnClockBeforeTheServerGrantsIt() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        lease.onLost(why -> told.add("a lost " + why));
        CompletableFuture<AcquireResult> next = b.acquireAsync(LOCK, AcquireOptions.waiting(Duration.ofMinutes(1)));
        var unused = next.thenAccept(result -> told.add("b granted"));
        fake.silence(a);
        fake.advance(Duration.ofSeconds(20));
        assertThat(told).containsExactly("a lost SERVER_UNREACHABLE", "b granted");
        assertThat(leaseOf(next.join()).token()).isGreaterThan(lease.token());
        fake.reconnect(a);
        fake.advance(Duration.ofSeconds(10));
        assertThat(a.tryAcquire("other")).isInstanceOf(AcquireResult.Granted.class);
    }

    @Test
    void aSilencedWaiterHearsNothingOfItsOffer() throws InterruptedException {
        Lease held = a.acquire(LOCK, Duration.ZERO);
        CompletableFuture<AcquireResult> waiting = b.acquireAsync(LOCK, AcquireOptions.waiting(Duration.ofMinutes(1)));
        fake.advance(Duration.ofSeconds(1));
        fake.silence(b);
        held.close();
        assertThat(waiting).isNotDone();
    }

    @Test
    void whatWasLostInASilenceIsSaidAgainAfterIt() {
        fake.silence(a);
        CompletableFuture<AcquireResult> asked = a.acquireAsync(LOCK, TRY);
        fake.reconnect(a);
        assertThat(asked).isNotDone();
        fake.advance(Duration.ofSeconds(1));
        assertThat(leaseOf(asked.join()).isValid()).isTrue();
    }

    @Test
    void aDisconnectedClientIsAbandonedAfterTheGraceUnlessItIsBackByThen() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        fake.disconnect(a);
        fake.advance(Duration.ofMillis(500));
        fake.reconnect(a);
        fake.advance(Duration.ofMinutes(1));
        assertThat(lease.isValid()).isTrue();
        fake.disconnect(a);
        fake.advance(Duration.ofMillis(1_100));
        assertThat(fake.describe(LOCK).holders()).isEmpty();
        assertThat(lease.isValid()).as("the client cannot know yet").isTrue();
        fake.reconnect(a);
        fake.advance(Duration.ofSeconds(5));
        assertThat(lease.lostReason()).contains(LostReason.ABANDONED);
    }

    @Test
    void expiryIsNotifiedAndTheLockDelayHolds() throws InterruptedException {
        Lease lease = leaseOf(a.tryAcquire(LOCK, TRY.lockDelay(Duration.ofSeconds(30))));
        lease.onLost(why -> told.add("lost " + why));
        fake.expire(LOCK);
        assertThat(told).containsExactly("lost EXPIRED");
        assertThat(b.tryAcquire(LOCK)).isInstanceOf(AcquireResult.Busy.class);
        CompletableFuture<AcquireResult> waiting = b.acquireAsync(LOCK, AcquireOptions.waiting(Duration.ofMinutes(1)));
        fake.advance(Duration.ofSeconds(29));
        assertThat(waiting).isNotDone();
        fake.advance(Duration.ofSeconds(1));
        assertThat(leaseOf(waiting.join()).token()).isGreaterThan(lease.token());
    }

    @Test
    void aLockReleasedEarlyStaysClosedForItsMinimumHoldTime() throws InterruptedException {
        Lease lease = leaseOf(a.tryAcquire(LOCK, TRY.lockAtLeastFor(Duration.ofMinutes(5))));
        lease.close();
        assertThat(a.tryAcquire(LOCK)).as("its own client").isInstanceOf(AcquireResult.Busy.class);
        CompletableFuture<AcquireResult> waiting = b.acquireAsync(LOCK, AcquireOptions.waiting(Duration.ofMinutes(10)));
        fake.stopServer();
        fake.startServer();
        assertThat(fake.describe(LOCK).minimumHoldRemaining()).isEqualTo(Duration.ofMinutes(5));
        fake.advance(Duration.ofMinutes(5).minusMillis(1));
        assertThat(waiting).isNotDone();
        fake.advance(Duration.ofMillis(1));
        assertThat(leaseOf(waiting.join()).token()).isGreaterThan(lease.token());
    }

    @Test
    void stoppedServerRepliesToNoCallAndKeepsItsLeases() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        fake.stopServer();
        assertThat(b.tryAcquire(LOCK))
                .isInstanceOfSatisfying(
                        AcquireResult.Unavailable.class,
                        none -> assertThat(none.rejection().message()).contains("no answer"));
        assertThatThrownBy(() -> fake.describe(LOCK)).isInstanceOf(IllegalStateException.class);
        fake.startServer();
        fake.advance(Duration.ofSeconds(30));
        assertThat(lease.isValid()).isTrue();
        assertThat(b.tryAcquire(LOCK)).isInstanceOf(AcquireResult.Busy.class);
        lease.close();
        assertThat(b.acquire(LOCK, Duration.ZERO).token()).isGreaterThan(lease.token());
    }

    @Test
    void aLeaseLastsItsFullTtlFromTheRestart() throws InterruptedException {
        Lease unused = a.acquire(LOCK, Duration.ZERO);
        fake.silence(a);
        fake.advance(Duration.ofSeconds(9));
        fake.stopServer();
        fake.startServer();
        fake.advance(Duration.ofMillis(9_999));
        assertThat(fake.describe(LOCK).holders()).hasSize(1);
        fake.advance(Duration.ofMillis(1));
        assertThat(fake.describe(LOCK).holders()).isEmpty();
    }

    @Test
    void aServerThatStaysAwayCostsTheLease() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        lease.onLost(why -> told.add("lost " + why));
        fake.stopServer();
        fake.advance(Duration.ofMillis(9_969));
        assertThat(told).isEmpty();
        fake.advance(Duration.ofMillis(1));
        assertThat(told).containsExactly("lost SERVER_UNREACHABLE");
    }

    @Test
    void sequencersAreGenuine() throws InterruptedException {
        Lease lease = leaseOf(a.tryAcquire(LOCK, TRY.shared()));
        Sequencer sequencer = fake.verifier().verify(lease.sequencer());
        assertThat(sequencer.lock()).isEqualTo(lease.lock());
        assertThat(sequencer.token()).isEqualTo(lease.token());
        assertThat(sequencer.grant()).isEqualTo(lease.grant());
        assertThat(sequencer.mode()).isEqualTo(Mode.SHARED);
        byte[] forged = lease.sequencer().toBytes();
        forged[forged.length - 1] ^= 1;
        assertThatThrownBy(() -> fake.verifier().verify(SignedSequencer.of(forged)))
                .isInstanceOf(RejectedException.class);
        assertThat(a.operations().isAlive(lease.sequencer())).isTrue();
    }

    @Test
    void aCallbackMayAskTheClientAndWaitForItsAnswer() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        lease.onLost(why -> {
            try {
                told.add(a.tryAcquire("other").getClass().getSimpleName());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        fake.expire(LOCK);
        assertThat(told).containsExactly("Granted");
    }

    @Test
    void forcedReleaseHasItsDetailAndIsInTheHistory() throws InterruptedException {
        Lease lease = a.acquire(LOCK, Duration.ZERO);
        assertThat(fake.operations().forceRelease(LOCK, OptionalLong.empty(), "ops", "stuck"))
                .isEqualTo(1);
        assertThat(lease.lostReason()).contains(LostReason.FORCE_RELEASED);
        assertThat(lease.lostDetail()).isEqualTo("by ops: stuck");
        assertThat(fake.operations().history(LOCK))
                .extracting(Operations.HistoryEntry::what)
                .containsExactly("GRANTED", "FORCE_RELEASED");
        assertThat(fake.operations().list("")).isEmpty();
    }

    @Test
    void aClientOfAnotherFakeIsRefused() {
        try (FakePalisade other = FakePalisade.start()) {
            PalisadeClient theirs = other.client("theirs");
            assertThatThrownBy(() -> fake.disconnect(theirs)).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
