package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreUnusable;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** One lock server's store, of several on one Redis, and what it was told. Sessions are numbers. */
final class OneOfSeveral implements AutoCloseable {
    static final LockName LOCK = new LockName("orders/7");
    static final long TTL_MILLIS = 30_000;

    final RedisStore store;
    final Queue<Offered> offered = new ConcurrentLinkedQueue<>();
    final Queue<LockEvent.Ended> ended = new ConcurrentLinkedQueue<>();
    final Queue<LockEvent.ReleaseRequested> asked = new ConcurrentLinkedQueue<>();
    final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    /** @param decidedAtMillis no later than the offer was made */
    record Offered(Grant promised, long decidedAtMillis) {}

    OneOfSeveral(String uri, String prefix, long graceMillis, boolean init) throws StoreUnusable, InterruptedException {
        EventLog log = new EventLog(events::add, System::nanoTime, 1_000);
        store = RedisStore.open(
                new RedisStoreConfig(
                        new RedisLinkConfig(StoreUri.parse(uri), Duration.ofSeconds(5)), prefix, graceMillis, init),
                Linked.LOOP,
                Limits.DEFAULTS,
                System::currentTimeMillis,
                timer,
                new Random(),
                log);
        store.listen(new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                for (LockEvent event : events) {
                    if (event instanceof LockEvent.Offered made) {
                        next.promised(made.request())
                                .ifPresent(promised -> offered.add(new Offered(promised, decidedAtMillis)));
                    } else if (event instanceof LockEvent.Ended over) {
                        ended.add(over);
                    } else if (event instanceof LockEvent.ReleaseRequested request) {
                        asked.add(request);
                    }
                }
            }

            @Override
            public void told() {}
        });
    }

    Answer execute(Command command) {
        try {
            return store.execute(command).toCompletableFuture().get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError(command + ": " + e.getCause(), e);
        }
    }

    static Request request(int session, long number) {
        return new Request(
                new RequestId(new SessionId(7, session), number),
                1,
                new GrantId(session, number),
                Mode.EXCLUSIVE,
                TTL_MILLIS,
                0,
                0,
                "owner " + session,
                "");
    }

    Answer acquire(int session, long number, long waitMillis) {
        return acquire(LOCK, session, number, waitMillis);
    }

    Answer acquire(LockName lock, int session, long number, long waitMillis) {
        return execute(new Acquire(lock, request(session, number), waitMillis, 0, Long.MAX_VALUE));
    }

    /** The lease of an acquire that must be granted. */
    Grant granted(int session, long number) {
        return ((Answer.Granted) acquire(session, number, 0)).grant();
    }

    Grant granted(int session, long number, LockName lock) {
        return ((Answer.Granted) acquire(lock, session, number, 0)).grant();
    }

    /** An acquire that may meet a Redis that is away; the failure in place of the answer. */
    Object tryOnce(int session, long number) {
        return store.execute(new Acquire(LOCK, request(session, number), 0, 0, Long.MAX_VALUE))
                .handle((answer, failure) -> failure == null ? (Object) answer : failure)
                .toCompletableFuture()
                .join();
    }

    Answer accept(Grant promised) {
        return execute(new Accept(
                LOCK, promised.id(), promised.token(), promised.request().id().session(), 1));
    }

    Answer release(Grant held) {
        return execute(new Release(LOCK, held.id(), held.token(), session(held)));
    }

    Answer renew(Grant held) {
        return renew(held, held.token());
    }

    Answer renew(Grant held, FencingToken token) {
        return execute(new Renew(LOCK, held.id(), token, session(held)));
    }

    static Renew renewal(Grant held, LockName lock) {
        return new Renew(lock, held.id(), held.token(), session(held));
    }

    static SessionId session(Grant held) {
        return held.request().id().session();
    }

    /** Stops without a word, as a killed process does. */
    @Override
    public void close() {
        timer.shutdownNow();
        store.close();
    }
}
