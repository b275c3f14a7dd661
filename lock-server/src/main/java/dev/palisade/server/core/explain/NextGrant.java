package dev.palisade.server.core.explain;

import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryEntry.What;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The grant that follows the end of another one of the same lock, as far as the history proves it. It never guesses: where an entry
 * may be missing in between, the next grant is not known.
 *
 * @param isKnown whether the history is unbroken from the end up to {@code begin}, or up to now
 * @param begin of the next lease; empty: none has begun since, or it is not known
 */
record NextGrant(boolean isKnown, Optional<HistoryEntry> begin) {
    static final Set<What> LEASE_BEGINS = EnumSet.of(What.GRANTED, What.ACCEPTED, What.RECLAIMED);
    static final Set<What> OFFER_ENDS =
            EnumSet.of(What.LAPSED, What.WITHDRAWN, What.LEFT, What.TIMED_OUT, What.DROPPED);
    private static final Set<What> LEASE_ENDS =
            EnumSet.of(What.RELEASED, What.EXPIRED, What.ABANDONED, What.FORCE_RELEASED);

    private static final NextGrant NOT_KNOWN = new NextGrant(false, Optional.empty());

    /**
     * Reads the history from the last end of a grant on.
     *
     * @param history oldest first
     * @param token the grant's first
     */
    static NextGrant after(long token, List<HistoryEntry> history) {
        int end = history.size() - 1;
        while (end >= 0 && !isEnd(history.get(end), token)) {
            end--;
        }
        if (end < 0) {
            return NOT_KNOWN;
        }
        for (HistoryEntry entry : history.subList(end + 1, history.size())) {
            if (entry.isAfterGap()) {
                return NOT_KNOWN;
            }
            if (LEASE_BEGINS.contains(entry.what()) && entry.token() > token) {
                return new NextGrant(true, Optional.of(entry));
            }
        }
        return new NextGrant(true, Optional.empty());
    }

    private static boolean isEnd(HistoryEntry entry, long token) {
        return entry.token() == token && (LEASE_ENDS.contains(entry.what()) || OFFER_ENDS.contains(entry.what()));
    }
}
