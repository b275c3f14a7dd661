package dev.palisade.client;

import java.time.Duration;
import java.util.concurrent.CancellationException;
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

    /** What a thread does in place of waiting, where time is moved by hand. */
    @FunctionalInterface
    interface Meanwhile {
        /** Whether it has waited until {@code future} was done or {@code limit} had passed; else the thread has to. */
        boolean waited(CompletableFuture<?> future, Duration limit);
    }

    Waiting(Meanwhile meanwhile) {
        this.meanwhile = meanwhile;
    }

    /** Whether there is nothing left to wait for; also that {@code limit} is over. */
    boolean waited(CompletableFuture<?> future, Duration limit) {
        return future.isDone() || meanwhile.waited(future, limit);
    }

    /**
     * Waits as long as the loop lets it.
     *
     * @throws CancellationException when interrupted, with the thread's interrupt flag set again; {@code giveUp} has run
     */
    <T> T interruptibly(CompletableFuture<T> future, Runnable giveUp) {
        try {
            return orInterrupted(future, giveUp);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CancellationException("interrupted while waiting for the lock server; nothing is held");
        }
    }

    /** Waits as long as the loop lets it; when interrupted, {@code giveUp} has run. */
    <T> T orInterrupted(CompletableFuture<T> future, Runnable giveUp) throws InterruptedException {
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

    /** Waits as long as the loop lets it, also when interrupted; the flag is kept. */
    <T> T uninterruptibly(CompletableFuture<T> future) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return orInterrupted(future, () -> {});
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
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    long leftNanos = waited(future, limit) ? 0 : limit.toNanos();
                    return future.get(leftNanos, TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    // Once more with the full limit: a second interrupt is the caller's own doing.
                    interrupted = true;
                } catch (TimeoutException e) {
                    return late;
                } catch (ExecutionException e) {
                    throw unchecked(e.getCause() == null ? e : e.getCause());
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
