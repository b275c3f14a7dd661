package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;

/**
 * Asynchronous callers: each acquires a lock, releases it, and continues with the next lock, without blocking a thread
 * and at least once. No two callers use the same lock.
 *
 * @param count of callers
 * @param names number of locks in total; at least {@code count}
 */
record AsyncCallers(int count, int names) {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    Measured run(Locks locks, Map<String, LongSupplier> clocks, Duration time) throws InterruptedException {
        AtomicReference<Throwable> failed = new AtomicReference<>();
        AtomicLong pairs = new AtomicLong();
        CountDownLatch ended = new CountDownLatch(count);
        Usage usage = Usage.begin(clocks);
        long until = System.nanoTime() + time.toNanos();
        for (int i = 0; i < count; i++) {
            new AsyncCaller(locks, i, until, failed, pairs, ended).next();
        }
        if (!ended.await(time.plus(TIMEOUT).toNanos(), TimeUnit.NANOSECONDS)) {
            throw new ScenarioFailed(ended.getCount() + " callers have no answer " + TIMEOUT.toSeconds()
                    + " s after the end of the round");
        }
        Throwable failure = failed.get();
        if (failure != null) {
            throw new ScenarioFailed("a caller failed: " + failure);
        }
        return usage.end(pairs.get(), Map.of());
    }

    private final class AsyncCaller {
        private final Locks locks;
        private final int first;
        private final long until;
        private final AtomicReference<Throwable> failed;
        private final AtomicLong totalPairs;
        private final CountDownLatch ended;
        private int name;
        private long pairs;

        AsyncCaller(
                Locks locks,
                int first,
                long until,
                AtomicReference<Throwable> failed,
                AtomicLong totalPairs,
                CountDownLatch ended) {
            this.locks = locks;
            this.first = first;
            this.until = until;
            this.failed = failed;
            this.totalPairs = totalPairs;
            this.ended = ended;
            this.name = first;
        }

        /** Runs one pair after the other, on the thread that completes the last one. */
        void next() {
            if ((pairs > 0 && System.nanoTime() - until >= 0) || failed.get() != null) {
                end();
                return;
            }
            String lock = "bench/chain/" + name;
            name = name + count < names ? name + count : first;
            try {
                var unused = locks.acquireAsync(lock)
                        .thenCompose(Locks.Hold::releaseAsync)
                        .whenComplete((done, failure) -> {
                            if (failure == null) {
                                pairs++;
                                next();
                            } else {
                                fail(failure);
                            }
                        });
            } catch (RuntimeException e) {
                fail(e);
            }
        }

        private void fail(Throwable failure) {
            failed.compareAndSet(null, failure);
            end();
        }

        private void end() {
            totalPairs.addAndGet(pairs);
            ended.countDown();
        }
    }
}
