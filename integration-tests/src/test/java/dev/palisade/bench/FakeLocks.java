package dev.palisade.bench;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Locks in this process. Whoever takes one that is held waits, in order; asynchronous callers never find theirs held. */
final class FakeLocks implements Locks {
    private final Map<String, Semaphore> locks = new ConcurrentHashMap<>();
    private final AtomicLong released = new AtomicLong();
    private final AtomicInteger acquired = new AtomicInteger();
    private final @Nullable Executor executor;
    private volatile int failing = Integer.MAX_VALUE;

    /** @param executor where asynchronous callers are told; null for those that have none */
    FakeLocks(@Nullable Executor executor) {
        this.executor = executor;
    }

    /** The acquires that follow after so many fail. */
    FakeLocks failingAfter(int acquires) {
        failing = acquires;
        return this;
    }

    /** How many have been released so far. */
    long released() {
        return released.get();
    }

    /** The names that have been taken so far. */
    Set<String> names() {
        return locks.keySet();
    }

    @Override
    public Hold acquire(String name) throws InterruptedException {
        requireMore();
        lock(name).acquire();
        return new FakeHold(name);
    }

    @Override
    public CompletionStage<Hold> acquireAsync(String name) {
        return later(() -> {
            requireMore();
            if (!lock(name).tryAcquire()) {
                throw new IllegalStateException(name + " is held");
            }
            return new FakeHold(name);
        });
    }

    private void requireMore() {
        if (acquired.getAndIncrement() >= failing) {
            throw new IllegalStateException("no more locks");
        }
    }

    private Semaphore lock(String name) {
        return locks.computeIfAbsent(name, any -> new Semaphore(1, true));
    }

    private <T> CompletionStage<T> later(Supplier<T> work) {
        if (executor == null) {
            throw new UnsupportedOperationException("these have no asynchronous calls");
        }
        return CompletableFuture.supplyAsync(work, executor);
    }

    @Override
    public void close() {}

    private final class FakeHold implements Hold {
        private final String name;

        FakeHold(String name) {
            this.name = name;
        }

        @Override
        public void release() {
            released.incrementAndGet();
            lock(name).release();
        }

        @Override
        public CompletionStage<?> releaseAsync() {
            return later(() -> {
                release();
                return name;
            });
        }
    }
}
