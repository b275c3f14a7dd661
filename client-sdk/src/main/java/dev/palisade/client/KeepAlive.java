package dev.palisade.client;

import java.util.ArrayDeque;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The keep-alives of one stream: when the next is due, which are unanswered, what an answer confirms. Pure; never sends.
 * One keep-alive renews every lease of the stream, so ten thousand leases cost no more messages than one.
 */
final class KeepAlive {
    private static final long NANOS_PER_MILLI = 1_000_000;

    /** A waiter needs a fresh echo of the client's clock in its offer. */
    private static final long WAITING_INTERVAL_NANOS = 500 * NANOS_PER_MILLI;

    private record Unanswered(long id, Moment sent) {}

    private final ArrayDeque<Unanswered> unanswered = new ArrayDeque<>();
    private long nextId = 1;
    private long baseNanos;

    KeepAlive(long nowNanos) {
        baseNanos = nowNanos;
    }

    /** The first lease or wait after none: the count starts now. */
    void activated(long nowNanos) {
        baseNanos = nowNanos;
    }

    /** When the next is due. */
    long dueNanos(OptionalLong smallestTtlMillis, boolean waiting) {
        return baseNanos + intervalNanos(smallestTtlMillis, waiting);
    }

    /** A third of the smallest ttl, and at most 500 ms while something waits. */
    static long intervalNanos(OptionalLong smallestTtlMillis, boolean waiting) {
        long byTtl = smallestTtlMillis.isPresent()
                ? smallestTtlMillis.getAsLong() * NANOS_PER_MILLI / 3
                : WAITING_INTERVAL_NANOS;
        return waiting ? Math.min(byTtl, WAITING_INTERVAL_NANOS) : byTtl;
    }

    /** The id that the next one will have: an answer confirms a lease only if it was held before the sending. */
    long nextId() {
        return nextId;
    }

    /** Takes note of a sending; returns its id. */
    long sent(Moment now) {
        baseNanos = now.nanos();
        unanswered.add(new Unanswered(nextId, now));
        return nextId++;
    }

    /** When the answered one was sent; null when it is unknown or was answered before. Older ones count as answered. */
    @Nullable
    Moment answered(long id) {
        if (unanswered.isEmpty() || id < unanswered.peekFirst().id() || id >= nextId) {
            return null;
        }
        Unanswered last = unanswered.pollFirst();
        while (last.id() < id) {
            last = unanswered.pollFirst();
        }
        return last.sent();
    }

    /** When the oldest unanswered one was sent. */
    OptionalLong oldestUnansweredNanos() {
        return unanswered.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(unanswered.peekFirst().sent().nanos());
    }
}
