package dev.palisade.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A future of an asynchronous acquire or release, or one derived from it. A blocking wait on the callback thread that
 * would have to complete it throws. That wait would never end, and would block all callbacks of the client.
 */
final class ClientFuture<T extends @Nullable Object> extends CompletableFuture<T> {
    private final Callbacks callbacks;
    private final BlockingWait blockingWait;

    ClientFuture(Callbacks callbacks, BlockingWait blockingWait) {
        this.callbacks = callbacks;
        this.blockingWait = blockingWait;
    }

    @Override
    public <U extends @Nullable Object> CompletableFuture<U> newIncompleteFuture() {
        return new ClientFuture<>(callbacks, blockingWait);
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
            throw new IllegalStateException("a callback of this client waits for a future that only the same thread can"
                    + " complete; chain with thenAccept, call acquire, or set callbackExecutor to one with"
                    + " more threads");
        }
        return blockingWait.tryAwait(this, limit);
    }
}
