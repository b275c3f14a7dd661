package dev.palisade.server.core.explain;

import dev.palisade.contract.LockName;
import java.util.List;
import java.util.Optional;

/**
 * An explanation of one grant of a lock, for people. Its sentences quote names and reasons that clients wrote, without control
 * characters; a page still escapes them. Times are the store's.
 *
 * @param token which token it is about; 0: no grant of the lock is known
 * @param atMillis when it was made
 * @param summary one sentence
 * @param events oldest first, at most {@link #EVENTS_MAX}
 * @param unknown what is not known, and why: a sentence each
 * @param advice what to do now: a sentence each
 */
public record GrantExplanation(
        LockName lock,
        long token,
        long atMillis,
        TokenState state,
        String summary,
        List<Event> events,
        List<String> unknown,
        List<String> advice) {
    /** The newest are kept. */
    public static final int EVENTS_MAX = 100;

    /** Beside the words of {@link dev.palisade.server.core.HistoryEntry.What}: the last renewal of a lease. */
    public static final String LAST_RENEWED = "LAST_RENEWED";

    /** The last frame of the client's stream before the lock server knew of its lease's end. */
    public static final String LAST_FRAME = "LAST_FRAME";

    /** The store refused what the lock server asked of it. */
    public static final String STORE_OUTAGE = "STORE_OUTAGE";

    /** The tokens of the lock began anew. */
    public static final String EPOCH_BEGAN = "EPOCH_BEGAN";

    /** A guard saw a newer token for the first time. */
    public static final String MARK_RAISED = "MARK_RAISED";

    /** A guard refused a call. */
    public static final String REFUSED = "REFUSED";

    public GrantExplanation {
        events = List.copyOf(events.subList(Math.max(0, events.size() - EVENTS_MAX), events.size()));
        unknown = List.copyOf(unknown);
        advice = List.copyOf(advice);
    }

    /**
     * One event of the timeline.
     *
     * @param what a word, such as GRANTED or REFUSED
     * @param token 0: of none
     * @param text one sentence
     * @param refusal of MARK_RAISED and REFUSED
     */
    public record Event(long atMillis, String what, long token, String text, Optional<RefusalReport> refusal) {}
}
