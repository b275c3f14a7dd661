package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import java.util.Optional;

/**
 * One line of a lock's past, for people.
 *
 * @param atMillis the store's time
 * @param token 0 when the request had none yet, and of a minimum hold time that was ended after its lease
 * @param owner whose request
 * @param detail who did it and why, when a person did; the purpose of what was granted or queued; the cause of an abandoned lease;
 *     else empty
 * @param isAfterGap whether entries may be missing right before this one
 */
public record HistoryEntry(
        long atMillis, What what, long token, GrantId grant, String owner, String detail, boolean isAfterGap) {
    /** Entries of one lock that are told. */
    public static final int LISTED_MAX = 50;

    public HistoryEntry(long atMillis, What what, long token, GrantId grant, String owner, String detail) {
        this(atMillis, what, token, grant, owner, detail, false);
    }

    /** The same, before which entries may be missing. */
    public HistoryEntry afterGap() {
        return new HistoryEntry(atMillis, what, token, grant, owner, detail, true);
    }

    /** Why the lease was abandoned; empty: it was not, or the server that ended it did not say. */
    public Optional<EndCause> cause() {
        return what == What.ABANDONED ? EndCause.of(End.ABANDONED, detail) : Optional.empty();
    }

    /** What happened. Renewals, signs of life and tries that were busy are too many to be told. */
    public enum What {
        GRANTED,
        QUEUED,
        OFFERED,
        ACCEPTED,
        LAPSED,
        WITHDRAWN,
        RESUMED,
        RECLAIMED,
        RELEASE_REQUESTED,
        RELEASED,
        EXPIRED,
        ABANDONED,
        FORCE_RELEASED,
        LEFT,
        TIMED_OUT,
        DROPPED;

        /** @throws IllegalArgumentException for BUSY, which is not told */
        public static What of(End end) {
            return valueOf(end.name());
        }
    }
}
