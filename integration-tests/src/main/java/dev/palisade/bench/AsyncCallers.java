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
 * Callers that block no thread: when a lock is taken its release is sent, when that is confirmed the next lock is asked for. No two
 * want the same lock. Each does it once at least.
 *
 * @param count how many
 * @param names how many locks they go through together; at least {@code count}
 */
record Chains(int count, int names) {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    Measured run(Locks locks, Map<String, LongSupplier> clocks, Duration time) throws InterruptedException {
        AtomicReference<Throwable> failed = new AtomicReference<>();
        AtomicLong pairs = new AtomicLong();
        CountDownLatch ended = new CountDownLatch(count);
        Usage usage = Usage.begin(clocks);
        long until = System.nanoTime() + time.toNanos();
        for (int i = 0; i < count; i++) {
            new Chain(locks, i, until, failed, pairs, ended).next();
        }
        if (!ended.await(time.plus(PATIENCE).toNanos(), TimeUnit.NANOSECONDS)) {
            throw new ScenarioFailed(ended.getCount() + " callers have no answer " + PATIENCE.toSeconds()
                    + " s after the end of the round");
        }
        Throwable failure = failed.get();
        if (failure != null) {
            throw new ScenarioFailed("a caller failed: " + failure);
        }
        return usage.end(pairs.get(), Map.of());
    }

    private final class Chain {
        private final Locks locks;
        private final int first;
        private final long until;
        private final AtomicReference<Throwable> failed;
        private final AtomicLong all;
        private final CountDownLatch ended;
        private int name;
        private long pairs;

        Chain(
                Locks locks,
                int first,
                long until,
                AtomicReference<Throwable> failed,
                AtomicLong all,
                CountDownLatch ended) {
            this.locks = locks;
            this.first = first;
            this.until = until;
            this.failed = failed;
            this.all = all;
            this.ended = ended;
            this.name = first;
        }

        /** One step after the other, whichever thread is told of the last: the library hands them on. */
        void next() {
            if ((pairs > 0 && System.nanoTime() - until >= 0) || failed.get() != null) {
                end();
                return;
            }
            String wanted = "bench/chain/" + name;
            name = name + count < names ? name + count : first;
            try {
                var unused = locks.acquireAsync(wanted)
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
            all.addAndGet(pairs);
            ended.countDown();
        }
    }
}
