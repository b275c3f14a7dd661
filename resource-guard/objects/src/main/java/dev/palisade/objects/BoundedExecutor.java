package dev.palisade.objects;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bounded executor of JDBC work: as many threads as connections, and a short queue, so that a slow database blocks
 * no event loop and takes no memory. Submitting never blocks.
 */
final class BoundedExecutor {
    private final ThreadPoolExecutor threads;

    BoundedExecutor(int threadsMax, int queueMax) {
        AtomicInteger number = new AtomicInteger();
        this.threads = new ThreadPoolExecutor(
                threadsMax, threadsMax, 1, TimeUnit.MINUTES, new ArrayBlockingQueue<>(queueMax), task -> {
                    Thread thread = new Thread(task, "palisade-objects-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    return thread;
                });
    }

    /** @throws dev.palisade.contract.RejectedException LIMIT_EXCEEDED when the queue is full: the task does not run */
    void submit(Runnable task) {
        try {
            threads.execute(task);
        } catch (RejectedExecutionException e) {
            throw new Rejection(
                            Reason.LIMIT_EXCEEDED,
                            "the service has " + threads.getQueue().size() + " calls waiting; try again later",
                            Map.of(Rejection.LIMIT, "queued_calls_max", Rejection.APPLIED, "no"))
                    .asException();
        }
    }

    /** Takes no more and waits for what it took; true when all of it ended in time. */
    boolean drain(Duration wait) throws InterruptedException {
        threads.shutdown();
        return threads.awaitTermination(wait.toMillis(), TimeUnit.MILLISECONDS);
    }
}
