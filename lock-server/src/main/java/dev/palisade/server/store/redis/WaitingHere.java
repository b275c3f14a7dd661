package dev.palisade.server.store.redis;

import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.LockRequest;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The requests that wait and were sent by this server: it keeps them alive, and hears of their offers. Safe for use by many threads. */
final class WaitingHere {
    private final Map<LockRequest, Waiting> all = new ConcurrentHashMap<>();

    /** One of them. */
    static final class Waiting {
        final Acquire acquire;
        /** When the wait ends, on the server's clock; {@link Long#MAX_VALUE} for never. */
        final long untilMillis;
        /** When the last call was sent that was answered "waits": no offer that is unknown here is older. */
        volatile long waitedAtMillis;
        /** The token of the last offer that was told; 0 for none. */
        private long toldToken;

        volatile boolean polled;

        Waiting(Acquire acquire, long sentMillis) {
            this.acquire = acquire;
            this.untilMillis = acquire.waitMillis() >= Long.MAX_VALUE - sentMillis
                    ? Long.MAX_VALUE
                    : sentMillis + acquire.waitMillis();
            this.waitedAtMillis = sentMillis;
        }

        /**
         * Whether the offer of that token is to be told; once, though a message of another server, the answer to a poll and
         * what a poll brings about itself may all say it: a client that has it already takes a second one for too much.
         */
        synchronized boolean isNews(long token) {
            boolean news = token != toldToken;
            toldToken = token;
            return news;
        }

        /** The same request, once more, for a store that has lost it. */
        Acquire again(long nowMillis) {
            return new Acquire(
                    acquire.lock(),
                    acquire.request(),
                    Math.max(1, untilMillis - nowMillis),
                    0,
                    acquire.aliveUntilMillis());
        }
    }

    /** The acquire, sent at {@code sentMillis}, was answered "waits". */
    void waits(Acquire acquire, long sentMillis) {
        all.compute(new LockRequest(acquire.lock(), acquire.request().id()), (id, known) -> {
            if (known == null) {
                return new Waiting(acquire, sentMillis);
            }
            known.waitedAtMillis = Math.max(known.waitedAtMillis, sentMillis);
            return known;
        });
    }

    void isOver(LockRequest request) {
        all.remove(request);
    }

    @Nullable
    Waiting of(LockRequest request) {
        return all.get(request);
    }

    Collection<Waiting> all() {
        return all.values();
    }
}
