package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The ways to check a fencing token that are found in print, in our own words, each in the story that breaks it; ours in all
 * of them. A store of one value stands behind each; what it was given is what counts.
 */
class PublishedSamplesTest {
    /** Something that checks a token before it writes. */
    private interface Checker {
        /** @param between what happens after the check and before the write. Returns false when refused */
        boolean write(long token, Runnable between);
    }

    private final List<Long> written = new ArrayList<>();
    private final List<Guard> guards = new ArrayList<>();

    @TempDir
    private Path directory;

    @AfterEach
    void close() {
        guards.forEach(Guard::close);
    }

    @Test
    void whoAcceptsOnlyTheTokenItKnowsRefusesTheRightfulSuccessor() {
        assertThat(successorWrites(onlyEqual())).isFalse();
        assertThat(successorWrites(ours())).isTrue();
    }

    @Test
    void whoRefusesEqualTokensAllowsAHolderOneWrite() {
        assertThat(holderWritesTwice(onlyLarger())).isFalse();
        assertThat(holderWritesTwice(ours())).isTrue();
    }

    @Test
    void whoChecksAndThenWritesLetsAPausedHolderWriteLast() {
        pausedHolderWrites(checkThenWrite());
        assertThat(written).containsExactly(34L, 33L);
        pausedHolderWrites(ours());
        assertThat(written).containsExactly(33L, 34L);
    }

    /** "The request's version must be that of the lock": nobody tells it of the next one but the next one's own request. */
    private Checker onlyEqual() {
        AtomicLong mark = new AtomicLong();
        return (token, between) -> {
            boolean fits = mark.compareAndSet(0, token) || mark.get() == token;
            return fits && write(token, between);
        };
    }

    /** "Refuse what is not larger than the last one." */
    private Checker onlyLarger() {
        AtomicLong mark = new AtomicLong();
        return (token, between) -> token > mark.getAndAccumulate(token, Math::max) && write(token, between);
    }

    /** "Compare and remember; then write": each step atomic, and nothing between them. */
    private Checker checkThenWrite() {
        AtomicLong mark = new AtomicLong();
        return (token, between) -> token >= mark.getAndAccumulate(token, Math::max) && write(token, between);
    }

    private Checker ours() {
        SequencerKeys keys = SequencerKeys.generate();
        Path marks = directory.resolve("marks" + guards.size());
        MarkStore.createNeverUsed(marks);
        Guard guard = Guard.builder(keys.verifier("palisade"), MarkStore.file(marks))
                .maxWait(Duration.ofMinutes(1))
                .build();
        guards.add(guard);
        return (token, between) -> {
            Sequencer sequencer = new Sequencer(
                    "palisade",
                    new LockName("value"),
                    Mode.EXCLUSIVE,
                    new FencingToken(token),
                    new GrantId(1, token),
                    0);
            try (Admission admission = guard.enter(keys.sign(sequencer), Access.WRITE, Binding.of("value"))) {
                return admission.sequencer().isPresent() && write(token, between);
            } catch (RejectedException e) {
                return false;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    private boolean write(long token, Runnable between) {
        between.run();
        synchronized (written) {
            return written.add(token);
        }
    }

    private static boolean successorWrites(Checker checker) {
        return checker.write(33, () -> {}) && checker.write(34, () -> {});
    }

    private static boolean holderWritesTwice(Checker checker) {
        boolean first = checker.write(33, () -> {});
        return checker.write(33, () -> {}) && first;
    }

    /** 33 is checked and paused; 34 comes and writes, or waits; 33 goes on. */
    private void pausedHolderWrites(Checker checker) {
        written.clear();
        List<CompletableFuture<Boolean>> successor = new ArrayList<>();
        assertThat(checker.write(33, () -> {
                    successor.add(CompletableFuture.supplyAsync(() -> checker.write(34, () -> {})));
                    guards.forEach(PublishedSamplesTest::awaitAWaiter);
                    if (guards.isEmpty()) {
                        successor.get(0).join();
                    }
                }))
                .isTrue();
        assertThat(successor.get(0).join()).isTrue();
    }

    private static void awaitAWaiter(Guard guard) {
        while (guard.stats().waiting() == 0) {
            Thread.onSpinWait();
        }
    }
}
