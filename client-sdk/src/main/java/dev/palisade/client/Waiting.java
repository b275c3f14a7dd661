package dev.palisade.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** How a caller's thread waits for what the loop completes. Holds no monitor, so that a virtual thread leaves its carrier. */
final class Waiting {
    /** A thread that waits does nothing else. */
    static final Meanwhile IDLE = (future, limit) -> false;

    private final Meanwhile meanwhile;
    private final Clocks clocks;

    /** What a thread does in place of waiting, where time is moved by hand. */
    @FunctionalInterface
    interface Meanwhile {
        /** Whether it has waited until {@code future} was done or {@code limit} had passed; else the thread has to. */
        boolean waited(CompletableFuture<?> future, Duration limit);
    }

    Waiting(Meanwhile meanwhile, Clocks clocks) {
        this.meanwhile = meanwhile;
        this.clocks = clocks;
    }

    /** Whether there is nothing left to wait for; also that {@code limit} is over. */
    boolean waited(CompletableFuture<?> future, Duration limit) {
        return future.isDone() || meanwhile.waited(future, limit);
    }

    /**
     * For the first line of a blocking call: what was interrupted before asks for nothing.
     *
     * @throws InterruptedException when the thread's interrupt flag was set; it is cleared
     */
    static void checkInterrupt() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before the call to the lock server");
        }
    }

    /** Waits as long as the loop lets it; when interrupted, {@code giveUp} has run and the flag is cleared. */
    <T> T interruptibly(CompletableFuture<T> future, Runnable giveUp) throws InterruptedException {
        try {
            boolean unused = waited(future, AcquireOptions.WAIT_ENDLESS);
            return future.get();
        } catch (InterruptedException e) {
            giveUp.run();
            throw e;
        } catch (ExecutionException e) {
            throw unchecked(e.getCause() == null ? e : e.getCause());
        }
    }

    /** Waits at most for {@code limit}; then it is {@code late}. */
    <T> T interruptibly(CompletableFuture<T> future, Duration limit, T late) throws InterruptedException {
        try {
            long leftNanos = waited(future, limit) ? 0 : limit.toNanos();
            return future.get(leftNanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return late;
        } catch (ExecutionException e) {
            throw unchecked(e.getCause() == null ? e : e.getCause());
        }
    }

    /** Waits as long as the loop lets it, also when interrupted; the flag is kept. */
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

    /** Waits at most for {@code limit}, also when interrupted; then it is {@code late}. */
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

    /** Waits at most for {@code limit}; whether it was enough is not asked. */
    void settle(CompletableFuture<@Nullable Void> future, Duration limit) {
        CompletableFuture<Boolean> done = future.thenApply(nothing -> true);
        boolean ignored = uninterruptibly(done, limit, false);
    }

    /** With the caller's own stack beneath: an exception made in the loop shows only the loop's. */
    private static RuntimeException unchecked(Throwable failure) {
        if (failure instanceof RuntimeException known) {
            known.addSuppressed(new Throwable("the call that failed"));
            return known;
        }
        return new CompletionException(failure);
    }
}
