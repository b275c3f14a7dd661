package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LockSnapshotsTest {
    private final AtomicLong nanos = new AtomicLong(1);
    private final List<String> reads = new ArrayList<>();
    private int locks = 3;

    private final LockSnapshots snapshots = new LockSnapshots(this::list, nanos::get);

    private CompletionStage<LockPage> list(String prefix, String after, int max) {
        reads.add(prefix + "|" + after);
        List<LockState> found = IntStream.range(0, locks)
                .mapToObj("lock-%05d"::formatted)
                .filter(name -> name.startsWith(prefix) && name.compareTo(after) > 0)
                .limit(max)
                .map(name -> LockState.unused(new LockName(name), 0))
                .toList();
        String last = found.isEmpty() ? "" : found.get(found.size() - 1).name().value();
        boolean isEnd = found.isEmpty() || last.equals("lock-%05d".formatted(locks - 1)) || found.size() < max;
        return CompletableFuture.completedFuture(new LockPage(found, isEnd ? "" : last, 0));
    }

    private LockPage of(String prefix) {
        return snapshots.of(prefix).toCompletableFuture().join();
    }

    private void pass(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    @Test
    void callersOfOneSecondShareASnapshot() {
        assertThat(of("").locks()).hasSize(3);
        assertThat(of("lock-00001").locks()).hasSize(1);
        pass(999);
        assertThat(of("").locks()).hasSize(3);
        assertThat(reads).hasSize(1);
        locks = 4;
        pass(1);
        assertThat(of("").locks()).hasSize(4);
        assertThat(reads).hasSize(2);
    }

    @Test
    void aSlowStoreIsReadLessOften() {
        CompletableFuture<LockPage> slow = new CompletableFuture<>();
        List<CompletableFuture<LockPage>> given = new ArrayList<>(List.of(slow));
        LockSnapshots cache = new LockSnapshots(
                (prefix, after, max) -> {
                    reads.add(prefix);
                    return given.isEmpty() ? new CompletableFuture<>() : given.remove(0);
                },
                nanos::get);
        CompletionStage<LockPage> first = cache.of("");
        pass(2_000);
        assertThat(cache.of("").toCompletableFuture()).isNotDone();
        assertThat(reads)
                .as("one that is under way is shared, however long it takes")
                .hasSize(1);
        slow.complete(new LockPage(List.of(), "", 0));
        assertThat(first.toCompletableFuture()).isDone();
        pass(19_999);
        assertThat(cache.of("").toCompletableFuture()).isDone();
        assertThat(reads).hasSize(1);
        pass(1);
        assertThat(cache.of("").toCompletableFuture()).isNotDone();
        assertThat(reads).hasSize(2);
    }

    @Test
    void aSnapshotIsBoundedAndSaysSo() {
        locks = LockSnapshots.LOCKS_MAX + 1_000;
        LockPage all = of("");
        assertThat(all.locks()).hasSize(LockSnapshots.LOCKS_MAX);
        assertThat(all.nextAfter()).isNotEmpty();
        LockPage last = of("lock-10999");
        assertThat(last.locks()).hasSize(1);
        assertThat(last.nextAfter()).isEmpty();
    }

    @Test
    void onlyAFewSnapshotsAreKept() {
        locks = LockSnapshots.LOCKS_MAX + 1_000;
        of("");
        reads.clear();
        for (int i = 0; i < LockSnapshots.SNAPSHOTS_MAX; i++) {
            of("lock-1000" + i);
        }
        int before = reads.size();
        of("lock-10007");
        assertThat(reads).hasSize(before);
        of("lock-10000");
        assertThat(reads).hasSizeGreaterThan(before);
    }

    @Test
    void aFailureIsSharedForASecondAndNotForLonger() {
        List<CompletableFuture<LockPage>> given = new ArrayList<>(List.of(
                CompletableFuture.failedFuture(new IllegalStateException("down")),
                CompletableFuture.completedFuture(new LockPage(List.of(), "", 0))));
        LockSnapshots cache = new LockSnapshots((prefix, after, max) -> given.remove(0), nanos::get);
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> cache.of("").toCompletableFuture().join()).hasMessageContaining("down");
        }
        pass(1_000);
        assertThat(cache.of("").toCompletableFuture().join().locks()).isEmpty();
    }
}
