package dev.palisade.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * What an asynchronous acquire or release gives, and what is derived from it: a future that refuses to be waited for by the one thread that
 * would have to complete it. That wait would never end, and would take every callback of the client with it.
 */
final class ClientFuture<T extends @Nullable Object> extends CompletableFuture<T> {
    private final Callbacks callbacks;
    private final Waiting waiting;

    ClientFuture(Callbacks callbacks, Waiting waiting) {
        this.callbacks = callbacks;
        this.waiting = waiting;
    }

    @Override
    public <U extends @Nullable Object> CompletableFuture<U> newIncompleteFuture() {
        return new ClientFuture<>(callbacks, waiting);
    }

    @Override
    public T join() {
        boolean unused = beforeWait(AcquireOptions.WAIT_ENDLESS);
        return super.join();
    }

    @Override
    public T get() throws InterruptedException, ExecutionException {
        boolean unused = beforeWait(AcquireOptions.WAIT_ENDLESS);
        return super.get();
    }

    @Override
    public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        boolean waited = beforeWait(Duration.ofNanos(unit.toNanos(timeout)));
        return super.get(waited ? 0 : timeout, unit);
    }

    private boolean beforeWait(Duration limit) {
        if (!isDone() && callbacks.onOwnThread()) {
            throw new IllegalStateException(
                    "a callback of this client waits for a future that only the same thread can"
                            + " complete; chain with thenAccept, call acquire, or set callbackExecutor to one with more threads");
        }
        return waiting.waited(this, limit);
    }
}
