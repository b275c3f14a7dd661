package dev.palisade.client;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Remembers when frames were sent by both clocks, so that an echoed {@code sent_nanos} can be turned into the moment it
 * stands for. Pure and bounded: one entry per 50 ms, the last few seconds. An echo from before that is no moment at all:
 * whoever asks must then treat what came with it as old.
 */
final class SendTimes {
    private static final long SPACING_NANOS = 50_000_000;
    private static final int ENTRIES_MAX = 128;

    private final ArrayDeque<Moment> entries = new ArrayDeque<>();
    private long newestNanos;

    void sent(Moment now) {
        newestNanos = now.nanos();
        if (!entries.isEmpty() && now.nanos() - entries.peekLast().nanos() < SPACING_NANOS) {
            return;
        }
        if (entries.size() == ENTRIES_MAX) {
            entries.removeFirst();
        }
        entries.addLast(now);
    }

    /**
     * The moment of an echo; null when nothing was seen (0), when it was never sent, or when it is too old to tell. Within
     * the spacing the wall clock is that of the entry before: a clock stepped forward since then shortens the lease.
     */
    @Nullable
    Moment at(long seenSentNanos) {
        if (seenSentNanos == 0 || entries.isEmpty() || seenSentNanos - newestNanos > 0) {
            return null;
        }
        var newestFirst = entries.descendingIterator();
        while (newestFirst.hasNext()) {
            Moment entry = newestFirst.next();
            if (seenSentNanos - entry.nanos() >= 0) {
                return new Moment(seenSentNanos, entry.wallMillis());
            }
        }
        return null;
    }
}
