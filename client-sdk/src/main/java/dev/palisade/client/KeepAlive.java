package dev.palisade.client;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The schedule and bookkeeping of one stream's keep-alives: when the next is due, which have no reply, and which leases
 * a reply confirms. Pure; it never sends. One keep-alive renews all leases of the stream, so ten thousand leases cost
 * no more messages than one. While a request waits, heartbeats are sent in between, which renew nothing: leases do not
 * need renewals that often.
 */
final class KeepAlive {
    private static final long NANOS_PER_MILLI = 1_000_000;

    /**
     * Interval while a request waits: an offer needs a recent echo of the client's clock, and a waiter needs to detect
     * a dead server.
     */
    static final long WAITING_INTERVAL_NANOS = 500 * NANOS_PER_MILLI;

    /** A keep-alive that was sent. */
    record Sent(long id, ClockReading at) {}

    /** Keep-alives that renew leases and have no reply. */
    private final ArrayDeque<Sent> renewals = new ArrayDeque<>();

    /** Keep-alives that renew nothing and have no reply. */
    private final ArrayDeque<Sent> heartbeats = new ArrayDeque<>();

    private long nextId = 1;
    private long sentNanos;
    private long renewedNanos;
    private boolean serverKnowsHeartbeats;

    KeepAlive(long nowNanos) {
        activated(nowNanos);
    }

    /** @param knowsHeartbeats whether the server knows keep-alives that renew nothing; else each renews */
    void welcomed(boolean knowsHeartbeats) {
        serverKnowsHeartbeats = knowsHeartbeats;
    }

    /** Restarts the schedule with the first lease or pending acquire. */
    void activated(long nowNanos) {
        sentNanos = nowNanos;
        renewedNanos = nowNanos;
    }

    /** When the next is due: leases are renewed each third of the smallest ttl. */
    long dueNanos(OptionalLong smallestTtlMillis, boolean waiting) {
        long heartbeat = sentNanos + WAITING_INTERVAL_NANOS;
        if (smallestTtlMillis.isEmpty()) {
            return heartbeat;
        }
        long renewal = renewalDueNanos(smallestTtlMillis.getAsLong());
        return waiting && heartbeat - renewal < 0 ? heartbeat : renewal;
    }

    private long renewalDueNanos(long smallestTtlMillis) {
        return renewedNanos + smallestTtlMillis * NANOS_PER_MILLI / 3;
    }

    /** Whether a keep-alive that is sent now renews the leases. */
    boolean renews(OptionalLong smallestTtlMillis, long nowNanos) {
        return !serverKnowsHeartbeats
                || (smallestTtlMillis.isPresent() && nowNanos - renewalDueNanos(smallestTtlMillis.getAsLong()) >= 0);
    }

    /** The id of the next keep-alive. A reply confirms only leases that were held before the sending. */
    long nextId() {
        return nextId;
    }

    /** Records a sending; returns its id. */
    long sent(ClockReading now, boolean renews) {
        sentNanos = now.nanos();
        if (renews) {
            renewedNanos = now.nanos();
        }
        (renews ? renewals : heartbeats).add(new Sent(nextId, now));
        return nextId++;
    }

    /**
     * Records a reply, also for all older keep-alives. Returns the newest keep-alive whose renewals it confirms; null
     * if it confirms none, or is for an unknown keep-alive or one that had its reply.
     *
     * @param id of the reply
     * @param renewedId of the reply: newest keep-alive with finished renewals; only a server that knows heartbeats
     *     sends it
     */
    @Nullable
    Sent replied(long id, long renewedId) {
        if (id >= nextId) {
            return null;
        }
        pollUpTo(id, heartbeats);
        return pollUpTo(serverKnowsHeartbeats ? Math.min(renewedId, id) : id, renewals);
    }

    @Nullable
    private static Sent pollUpTo(long id, ArrayDeque<Sent> unanswered) {
        Sent last = null;
        while (!unanswered.isEmpty() && unanswered.getFirst().id() <= id) {
            last = unanswered.removeFirst();
        }
        return last;
    }

    /** When the oldest keep-alive without a reply was sent. */
    OptionalLong oldestUnrepliedNanos() {
        return Stream.of(renewals, heartbeats)
                .filter(unanswered -> !unanswered.isEmpty())
                .map(ArrayDeque::getFirst)
                .min(Comparator.comparingLong(Sent::id))
                .map(oldest -> OptionalLong.of(oldest.at().nanos()))
                .orElse(OptionalLong.empty());
    }
}
