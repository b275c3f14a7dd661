package dev.palisade.client;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** How a caller's thread waits for what the loop completes. */
final class Waiting {
    private Waiting() {}

    /**
     * Waits as long as the loop lets it.
     *
     * @throws CancellationException when interrupted, with the thread's interrupt flag set again; {@code giveUp} has run
     */
    static <T> T interruptibly(CompletableFuture<T> future, Runnable giveUp) {
        try {
            return future.get();
        } catch (InterruptedException e) {
            giveUp.run();
            Thread.currentThread().interrupt();
            throw new CancellationException("interrupted while waiting for the lock server; nothing is held");
        } catch (ExecutionException e) {
            throw unchecked(e.getCause() == null ? e : e.getCause());
        }
    }

    /** Waits at most for {@code limit}, also when interrupted; then it is {@code late}. */
    static <T> T uninterruptibly(CompletableFuture<T> future, Duration limit, T late) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get(limit.toNanos(), TimeUnit.NANOSECONDS);
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
    static void settle(CompletableFuture<@Nullable Void> future, Duration limit) {
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
