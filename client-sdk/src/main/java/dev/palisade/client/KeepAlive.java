package dev.palisade.client;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The keep-alives of one stream: when the next is due, which are unanswered, what an answer confirms. Pure; never
 * sends. One keep-alive renews every lease of the stream, so ten thousand leases cost no more messages than one. While
 * a request waits, keep-alives in between renew nothing, because leases do not need renewals that often.
 */
final class KeepAlive {
    private static final long NANOS_PER_MILLI = 1_000_000;

    /** A waiter needs a fresh echo of the client's clock in its offer, and wants to know that the server is there. */
    static final long WAITING_INTERVAL_NANOS = 500 * NANOS_PER_MILLI;

    /** A keep-alive that was sent. */
    record Sent(long id, ClockReading at) {}

    /** Unanswered ones. */
    private final ArrayDeque<Sent> renewals = new ArrayDeque<>();

    private final ArrayDeque<Sent> signs = new ArrayDeque<>();
    private long nextId = 1;
    private long sentNanos;
    private long renewedNanos;
    private boolean serverKnowsSigns;

    KeepAlive(long nowNanos) {
        activated(nowNanos);
    }

    /** @param knowsSigns whether the server knows keep-alives that renew nothing; else each renews */
    void welcomed(boolean knowsSigns) {
        serverKnowsSigns = knowsSigns;
    }

    /** The first lease or wait after none: the count starts now. */
    void activated(long nowNanos) {
        sentNanos = nowNanos;
        renewedNanos = nowNanos;
    }

    /** When the next is due: leases are renewed each third of the smallest ttl. */
    long dueNanos(OptionalLong smallestTtlMillis, boolean waiting) {
        long sign = sentNanos + WAITING_INTERVAL_NANOS;
        if (smallestTtlMillis.isEmpty()) {
            return sign;
        }
        long renewal = renewalDueNanos(smallestTtlMillis.getAsLong());
        return waiting && sign - renewal < 0 ? sign : renewal;
    }

    private long renewalDueNanos(long smallestTtlMillis) {
        return renewedNanos + smallestTtlMillis * NANOS_PER_MILLI / 3;
    }

    /** Whether one that is sent now renews the leases. */
    boolean renews(OptionalLong smallestTtlMillis, long nowNanos) {
        return !serverKnowsSigns
                || (smallestTtlMillis.isPresent() && nowNanos - renewalDueNanos(smallestTtlMillis.getAsLong()) >= 0);
    }

    /** The id that the next one will have: an answer confirms a lease only if it was held before the sending. */
    long nextId() {
        return nextId;
    }

    /** Takes note of a sending; returns its id. */
    long sent(ClockReading now, boolean renews) {
        sentNanos = now.nanos();
        if (renews) {
            renewedNanos = now.nanos();
        }
        (renews ? renewals : signs).add(new Sent(nextId, now));
        return nextId++;
    }

    /**
     * Returns the newest keep-alive whose renewals a reply confirms; null if it confirms none, or is for an unknown or
     * an answered one. Older keep-alives count as answered.
     *
     * @param id of the reply
     * @param renewedId of the reply: newest keep-alive with finished renewals; only a server that knows signs sends it
     */
    @Nullable
    Sent answered(long id, long renewedId) {
        if (id >= nextId) {
            return null;
        }
        pollUpTo(id, signs);
        return pollUpTo(serverKnowsSigns ? Math.min(renewedId, id) : id, renewals);
    }

    @Nullable
    private static Sent pollUpTo(long id, ArrayDeque<Sent> unanswered) {
        Sent last = null;
        while (!unanswered.isEmpty() && unanswered.getFirst().id() <= id) {
            last = unanswered.removeFirst();
        }
        return last;
    }

    /** When the oldest unanswered one was sent. */
    OptionalLong oldestUnansweredNanos() {
        return Stream.of(renewals, signs)
                .filter(unanswered -> !unanswered.isEmpty())
                .map(ArrayDeque::getFirst)
                .min(Comparator.comparingLong(Sent::id))
                .map(oldest -> OptionalLong.of(oldest.at().nanos()))
                .orElse(OptionalLong.empty());
    }
}
