package dev.palisade.bench;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RFencedLock with its watchdog, as its manual has it; more connections than by default, so that no caller waits for one. */
final class RedissonLocks implements Locks {
    private static final int CONNECTIONS = 128;
    private static final long QUIET_MILLIS = 0;
    private static final long CLOSING_MILLIS = 2_000;

    private final RedissonClient client;

    RedissonLocks(String address) {
        Config config = new Config();
        config.useSingleServer()
                .setAddress(address)
                .setConnectionPoolSize(CONNECTIONS)
                .setConnectionMinimumIdleSize(CONNECTIONS);
        client = Redisson.create(config);
    }

    @Override
    public Hold acquire(String name) {
        RFencedLock lock = client.getFencedLock(name);
        Long token = lock.lockAndGetToken();
        return new Held(lock, token, Thread.currentThread().getId());
    }

    @Override
    public CompletionStage<Hold> acquireAsync(String name) {
        RFencedLock lock = client.getFencedLock(name);
        // It is the thread's, by its number, also where no thread waits.
        long owner = Thread.currentThread().getId();
        return lock.lockAndGetTokenAsync().thenApply(token -> new Held(lock, token, owner));
    }

    @Override
    public void close() {
        client.shutdown(QUIET_MILLIS, CLOSING_MILLIS, TimeUnit.MILLISECONDS);
    }

    private record Held(RFencedLock lock, long token, long owner) implements Hold {
        @Override
        public void release() {
            lock.unlock();
        }

        @Override
        public CompletionStage<?> releaseAsync() {
            return lock.unlockAsync(owner);
        }
    }
}
