package dev.palisade.server.store.redis;

import static dev.palisade.server.store.log.Asking.acquire;

import dev.palisade.contract.EventLog;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.ownership.LogRules;
import dev.palisade.server.ownership.OwnershipMachine;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.LoggedStore;
import dev.palisade.server.store.log.LoggedStoreConfig;
import dev.palisade.server.store.log.SharedLogs;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/** The store of one lock server over a log in Redis, which others share, with a thread of its own and the clock of the machine. */
final class SharedLogStore implements AutoCloseable {
    static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);
    static final long GRACE_MILLIS = 2_000;

    private static final long CLAIM_MILLIS = 1_000;
    private static final AtomicLong SESSIONS = new AtomicLong();

    final LoggedStore store;
    final Queue<String> events = new ConcurrentLinkedQueue<>();

    /**
     * @param start what it may find
     * @param resumes whether it keeps its memory after a loss of data
     */
    SharedLogStore(String uri, String address, RedisLogConfig.Start start, boolean resumes)
            throws StoreUnusable, InterruptedException {
        SecureRandom random = new SecureRandom();
        store = LoggedStore.share(
                LoggedStoreConfig.DEFAULTS,
                Limits.DEFAULTS,
                RedisLog.open(
                        new RedisLogConfig(
                                new RedisLinkConfig(StoreUri.parse(uri), STORE_TIMEOUT),
                                RedisLogs.PREFIX,
                                address,
                                start,
                                GRACE_MILLIS,
                                CLAIM_MILLIS,
                                LogRules.SETTLE_MILLIS,
                                ""),
                        SharedLogs.ANY_KEYS,
                        Linked.LOOP,
                        random,
                        new EventLog(events::add, System::nanoTime, 1_000)),
                new OwnershipMachine.Settings(CLAIM_MILLIS, STORE_TIMEOUT.toMillis(), resumes),
                System::nanoTime,
                random::nextInt,
                why -> {
                    throw new AssertionError("fatal: " + why);
                });
        store.listen(new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> changes, long decidedAtMillis) {}

            @Override
            public void told() {}
        });
    }

    /** The answer, or the {@link StoreFailure}. */
    Object ask(Command command) {
        return store.execute(command)
                .handle((answer, failure) -> failure == null
                        ? (Object) answer
                        : failure instanceof CompletionException wrapped ? wrapped.getCause() : failure)
                .toCompletableFuture()
                .join();
    }

    /** Tries once, in a session that nothing else uses. */
    Object tryLock(String lock) {
        return ask(acquire(lock, SESSIONS.incrementAndGet(), 1, Duration.ZERO));
    }

    /** Of a lock that must be granted. */
    Grant granted(String lock) {
        return ((Answer.Granted) tryLock(lock)).grant();
    }

    boolean isActive() {
        return store.status().up();
    }

    @Override
    public void close() {
        store.close();
    }
}
