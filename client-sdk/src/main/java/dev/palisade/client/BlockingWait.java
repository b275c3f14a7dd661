package dev.palisade.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A blocking wait of the caller's thread for a future that the loop completes. It holds no monitor, so a virtual thread
 * leaves its carrier.
 */
final class BlockingWait {
    /** The strategy of production: the thread blocks. */
    static final BlockingStrategy BLOCK = (future, limit) -> false;

    private final BlockingStrategy strategy;
    private final Clocks clocks;

    /** What a thread does before it blocks. Where time is manual, the thread advances it instead of blocking. */
    @FunctionalInterface
    interface BlockingStrategy {
        /** Returns true once {@code future} is done or {@code limit} has passed; false if the thread has to block. */
        boolean tryAwait(CompletableFuture<?> future, Duration limit);
    }

    BlockingWait(BlockingStrategy strategy, Clocks clocks) {
        this.strategy = strategy;
        this.clocks = clocks;
    }

    /** Waits by the strategy. Returns false if the thread has to block, because {@code future} is not done yet. */
    boolean tryAwait(CompletableFuture<?> future, Duration limit) {
        return future.isDone() || strategy.tryAwait(future, limit);
    }

    /**
     * First statement of every blocking call: an interrupted thread sends nothing.
     *
     * @throws InterruptedException when the thread's interrupt flag was set; it is cleared
     */
    static void checkInterrupt() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before the call to the lock server");
        }
    }

    /** Waits until {@code future} is done. When interrupted, it runs {@code giveUp}; the flag is cleared. */
    <T> T interruptibly(CompletableFuture<T> future, Runnable giveUp) throws InterruptedException {
        try {
            boolean unused = tryAwait(future, AcquireOptions.WAIT_ENDLESS);
            return future.get();
        } catch (InterruptedException e) {
            giveUp.run();
            throw e;
        } catch (ExecutionException e) {
            throw unchecked(e.getCause() == null ? e : e.getCause());
        }
    }

    /** Waits at most for {@code limit}, and returns {@code late} after that. */
    <T> T interruptibly(CompletableFuture<T> future, Duration limit, T late) throws InterruptedException {
        try {
            long leftNanos = tryAwait(future, limit) ? 0 : limit.toNanos();
            return future.get(leftNanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return late;
        } catch (ExecutionException e) {
            throw unchecked(e.getCause() == null ? e : e.getCause());
        }
    }

    /** Waits until {@code future} is done, also when interrupted; the flag is kept. */
    <T> T uninterruptibly(CompletableFuture<T> future) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return interruptibly(future, () -> {});
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits at most for {@code limit}, also when interrupted, and returns {@code late} after that. */
    <T> T uninterruptibly(CompletableFuture<T> future, Duration limit, T late) {
        long endNanos = clocks.now().nanos() + limit.toNanos();
        Duration left = limit;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return interruptibly(future, left, late);
                } catch (InterruptedException e) {
                    interrupted = true;
                    left = Duration.ofNanos(Math.max(0, endNanos - clocks.now().nanos()));
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits at most for {@code limit}, whether the future is done by then or not. */
    void settle(CompletableFuture<@Nullable Void> future, Duration limit) {
        CompletableFuture<Boolean> done = future.thenApply(nothing -> true);
        boolean ignored = uninterruptibly(done, limit, false);
    }

    /** Adds the caller's stack trace: that of an exception made in the loop shows only the loop. */
    private static RuntimeException unchecked(Throwable failure) {
        if (failure instanceof RuntimeException known) {
            known.addSuppressed(new Throwable("the call that failed"));
            return known;
        }
        return new CompletionException(failure);
    }
}
