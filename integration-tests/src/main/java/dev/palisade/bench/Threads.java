package dev.palisade.bench;

import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;

/**
 * Threads that each do one thing over and over until the time is over, and once at least.
 *
 * @param count how many
 * @param factory of what kind
 */
record Threads(int count, ThreadFactory factory) {
    /** How much longer than its time a round may take, until a thread counts as stuck. */
    static final Duration PATIENCE = Duration.ofSeconds(30);

    /** What a thread does once. */
    interface Work {
        void once() throws Exception;
    }

    static Threads ofPlatform(int count) {
        return new Threads(count, Thread::new);
    }

    /**
     * How often each did it.
     *
     * @param work of a thread, by its number from 0
     * @throws ScenarioFailed if one of them failed or is stuck
     */
    List<Long> run(Duration time, IntFunction<Work> work) throws InterruptedException {
        AtomicReference<Throwable> failed = new AtomicReference<>();
        long until = System.nanoTime() + time.toNanos();
        List<Worker> workers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Worker worker = new Worker(work.apply(i), until, failed);
            workers.add(worker);
            threads.add(factory.newThread(worker));
        }
        threads.forEach(Thread::start);
        join(threads, until + PATIENCE.toNanos());
        Throwable failure = failed.get();
        if (failure != null) {
            throw new ScenarioFailed("a caller failed: " + failure);
        }
        return workers.stream().map(worker -> worker.done).toList();
    }

    private static void join(List<Thread> threads, long deadline) throws InterruptedException {
        try {
            for (Thread thread : threads) {
                thread.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
                if (thread.isAlive()) {
                    throw new ScenarioFailed(
                            "a caller has no answer " + PATIENCE.toSeconds() + " s after the end of the round");
                }
            }
        } finally {
            threads.forEach(Thread::interrupt);
        }
    }

    private static final class Worker implements Runnable {
        private final Work work;
        private final long until;
        private final AtomicReference<Throwable> failed;
        private long done;

        Worker(Work work, long until, AtomicReference<Throwable> failed) {
            this.work = work;
            this.until = until;
            this.failed = failed;
        }

        @Override
        @SuppressWarnings("InterruptedExceptionSwallowed") // It is told with the other failures, and ends the thread.
        public void run() {
            try {
                do {
                    work.once();
                    done++;
                } while (System.nanoTime() - until < 0 && failed.get() == null);
            } catch (Exception e) {
                failed.compareAndSet(null, e);
            }
        }
    }
}
