package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.guard.LockService.RefusedCalls;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What a guard reports of its refusals, and that neither calls nor its close wait for that. */
class GuardReportsTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Duration GATHER = Duration.ofMillis(200);

    private final ManualTime time = new ManualTime();
    private final List<RefusedCalls> reported = new ArrayList<>();
    private Supplier<CompletionStage<Boolean>> reply = () -> CompletableFuture.completedStage(true);

    /** Of a guard whose marks are whole and which protects no name, nothing but reports are sent. */
    private LockService locks() {
        return (LockService) Proxy.newProxyInstance(
                LockService.class.getClassLoader(), new Class<?>[] {LockService.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("reportRefusals");
                    ((List<?>) arguments[1]).forEach(calls -> reported.add((RefusedCalls) calls));
                    return reply.get();
                });
    }

    private Guard.Builder builder() {
        SlowMarkStore store = new SlowMarkStore();
        store.closedInOrder = true;
        store.syncsAtOnce = true;
        return Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .lockService(locks());
    }

    private static CompletableFuture<Admission> write(Guard guard, long token) {
        Sequencer sequencer = new Sequencer(
                "palisade", new LockName("orders"), Mode.EXCLUSIVE, new FencingToken(token), new GrantId(1, token), 0);
        return guard.enterAsync(KEYS.sign(sequencer), Access.WRITE, Binding.of("orders"));
    }

    @Test
    void aRefusalIsReportedWithBothTokens() {
        Guard guard = builder().build();
        write(guard, 34).join().close();
        assertThat(write(guard, 33)).isCompletedExceptionally();
        assertThat(reported).isEmpty();
        time.pass(GATHER);
        assertThat(reported).singleElement().satisfies(calls -> {
            assertThat(calls.lock()).isEqualTo(new LockName("orders"));
            assertThat(calls.presentedToken()).isEqualTo(33);
            assertThat(calls.markToken()).hasValue(34);
            assertThat(calls.markRaisedAgo()).isPresent();
        });
    }

    @Test
    void aGuardThatOnlyObservesReportsNothing() {
        Guard guard = builder().observeOnly().build();
        write(guard, 34).join().close();
        write(guard, 33).join().close();
        time.pass(GATHER);
        assertThat(guard.stats().wouldRefuse()).isNotEmpty();
        assertThat(reported).isEmpty();
    }

    @Test
    void callsAndCloseDoNotWaitForAReport() {
        reply = CompletableFuture::new; // It is never answered.
        Guard guard = builder().build();
        write(guard, 34).join().close();
        for (int i = 0; i < 1_000; i++) {
            assertThat(write(guard, 33)).isCompletedExceptionally();
            time.pass(GATHER);
        }
        assertThat(reported).as("one report at a time").hasSize(1);
        assertThat(write(guard, 35)).isCompleted();
        guard.close();
        assertThat(time.timers()).isZero();
    }

    @Test
    void aLockServiceThatThrowsHarmsNoCall() {
        reply = () -> {
            throw new IllegalStateException("a bug of the application");
        };
        Guard guard = builder().build();
        write(guard, 34).join().close();
        assertThat(write(guard, 33)).isCompletedExceptionally();
        time.pass(GATHER);
        assertThat(write(guard, 33)).isCompletedExceptionally();
        time.pass(Duration.ofSeconds(1));
        assertThat(reported).hasSize(2);
        assertThat(reported.get(1).count()).isEqualTo(2);
    }
}
