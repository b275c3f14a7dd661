package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** {@link Guard} among executors that refuse, lock services that throw, and callers that lose patience. */
class GuardInTroubleTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final LockName LOCK = new LockName("orders/42");
    private static final Binding ORDER = Binding.of("orders/42");
    private static final Duration WAIT = Duration.ofSeconds(5);

    private final ManualTime time = new ManualTime();
    private final SlowMarkStore store = new SlowMarkStore();

    private Guard.Builder builder() {
        return Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .maxWait(WAIT);
    }

    @Test
    void aClaimThatIsCancelledHoldsNobodyUp() {
        store.syncsAtOnce = true;
        Guard guard = builder().build();
        Admission old = write(guard, 33).join();
        CompletableFuture<Void> claim = guard.claimAsync(signed(34), WAIT, ORDER);
        claim.cancel(false);
        old.close();
        assertThat(write(guard, 35)).isCompleted();
    }

    @Test
    void claimOfACallerThatLeftBlocksNoCall() {
        store.syncsAtOnce = true;
        Guard guard = builder().build();
        Admission old = write(guard, 33).join();
        CompletableFuture<Void> claim = guard.claimAsync(signed(34), WAIT, ORDER);
        claim.completeExceptionally(new TimeoutException());
        old.close();
        assertThat(write(guard, 35)).isCompleted();
    }

    @Test
    void whoIsLetInAfterAskingTheStoreIsToldOnTheGuardsExecutor() {
        store.syncsAtOnce = true;
        store.heldForLife = false;
        store.confirmed = new CompletableFuture<>();
        List<Runnable> handed = new ArrayList<>();
        Guard guard = builder().executor(handed::add).build();
        CompletableFuture<Admission> call = write(guard, 33);
        handed.remove(0).run();
        store.confirmed.complete(null);
        assertThat(call).as("on the store's thread").isNotDone();
        handed.remove(0).run();
        assertThat(call).isCompleted();
    }

    @Test
    void anExecutorThatTakesNothingRefusesTheCallAndHoldsNobodyUp() {
        store.syncsAtOnce = true;
        AtomicBoolean full = new AtomicBoolean(true);
        Guard guard = builder()
                .executor(run -> {
                    if (full.get()) {
                        throw new RejectedExecutionException("full");
                    }
                    run.run();
                })
                .build();
        CompletableFuture<Admission> call = write(guard, 33);
        assertThat(refused(call).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(guard.stats().waiting()).isZero();
        full.set(false);
        assertThat(write(guard, 34)).isCompleted();
    }

    @Test
    void aCallThatIsOnItsWayInWhenTheGuardIsClosedIsRefused() {
        store.complete = false;
        Guard guard = builder().lockService(barrier()).build();
        CompletableFuture<Admission> call = write(guard, 33);
        guard.close();
        assertThat(refused(call).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(guard.stats().waiting()).isZero();
    }

    @Test
    void aLockServiceThatThrowsRefusesTheCall() {
        LockService throwing = new GrantingLocks() {
            @Override
            public CompletionStage<Long> barrier(LockName lock) {
                throw new IllegalStateException("bug");
            }

            @Override
            public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
                throw new IllegalStateException("bug");
            }
        };
        store.complete = false;
        Guard guard = builder().lockService(throwing).build();
        assertThat(refused(write(guard, 33)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        CompletableFuture<Admission> online = guard.enterAsync(signed(33), Access.WRITE, Check.ONLINE, WAIT, ORDER);
        assertThat(refused(online).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(guard.stats().waiting()).isZero();
    }

    @Test
    void aCallOfManyResourcesIsLetInOnOneThread() {
        store.syncsAtOnce = true;
        Guard guard = builder().build();
        Binding[] many = IntStream.range(0, 20_000)
                .mapToObj(i -> new Binding("order/" + i, LOCK))
                .toArray(Binding[]::new);
        assertThat(guard.enterAsync(signed(33), Access.WRITE, many)).isCompleted();
    }

    @Test
    void whoAsksToBeToldOfANewerGrantIsToldThoughAnotherThrows() {
        store.syncsAtOnce = true;
        AtomicBoolean told = new AtomicBoolean();
        Guard guard = builder().build();
        Admission old = write(guard, 33).join();
        old.onSuperseded(() -> {
            throw new IllegalStateException("bug");
        });
        old.onSuperseded(() -> told.set(true));
        try {
            var unused = write(guard, 34);
        } catch (IllegalStateException e) {
            // The executor of this test throws it back.
        }
        assertThat(told).isTrue();
    }

    @Test
    void aWaitBeyondAllNumbersIsAWaitLikeAnyOther() {
        Guard guard = builder().build();
        CompletableFuture<Admission> call =
                guard.enterAsync(signed(33), Access.WRITE, Check.LOCAL, Duration.ofSeconds(Long.MIN_VALUE), ORDER);
        assertThat(call).isNotDone();
        time.pass(Duration.ofNanos(1));
        assertThat(refused(call).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(guard.stats().waiting()).isZero();
    }

    private static CompletableFuture<Admission> write(Guard guard, long token) {
        return guard.enterAsync(signed(token), Access.WRITE, ORDER);
    }

    private static Rejection refused(CompletableFuture<Admission> call) {
        assertThat(call).isCompletedExceptionally();
        try {
            call.join();
            throw new AssertionError("admitted");
        } catch (CompletionException e) {
            return MultiAdmission.rejected(e).rejection();
        }
    }

    private static LockService barrier() {
        return new GrantingLocks() {
            @Override
            public CompletionStage<Long> barrier(LockName lock) {
                return CompletableFuture.completedStage(1L);
            }

            @Override
            public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
                return CompletableFuture.completedStage(true);
            }
        };
    }

    private static SignedSequencer signed(long token) {
        return KEYS.sign(
                new Sequencer("palisade", LOCK, Mode.EXCLUSIVE, new FencingToken(token), new GrantId(1, token), 0));
    }
}
