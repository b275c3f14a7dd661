package dev.palisade.server.store.log;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Records that a table keeps in its log, so that the oldest ones can be written anew when the log asks for it. Touched by one thread at a
 * time, whose turn it is.
 */
final class Records {
    /** Written anew in a batch that writes fewer: a log that asks for it gets there without much traffic, too. */
    private static final int REWRITES_MIN = 32;
    /** Some hundred kilobytes: a log takes and reads many of them at once. */
    private static final int PART_RECORDS = 2_000;

    private final FencedLog log;
    /** By id, the oldest first. */
    private final Map<Long, Rewriter> kept = new LinkedHashMap<>();

    private int written;
    private boolean copying;

    /** Stores a part of a copy. */
    interface Part {
        void store() throws LogFailure;
    }

    /** Whose record it is. */
    interface Rewriter {
        /** Adds what the record says as a new one, and deletes the old one. */
        void rewrite(long nowMillis);
    }

    Records(FencedLog log) {
        this.log = log;
    }

    long add(byte[] body, Rewriter rewriter) {
        long id = log.add(body);
        written++;
        restored(id, rewriter);
        return id;
    }

    /** Of one that the log held when it was read; the smallest id first. */
    void restored(long id, Rewriter rewriter) {
        kept.put(id, rewriter);
    }

    /** @param index 1 for the first update of a record, then counted up */
    void update(long id, int index, byte[] body) {
        log.update(id, index, body);
        written++;
    }

    void delete(long id) {
        if (!copying) { // The copy has none of before.
            log.delete(id);
        }
        kept.remove(id);
    }

    /**
     * Adds what all records say, as a copy of the log.
     *
     * @param part stores what was added so far
     */
    void copy(long nowMillis, Part part) throws LogFailure {
        copying = true;
        try {
            int copied = 0;
            for (Rewriter each : List.copyOf(kept.values())) {
                each.rewrite(nowMillis);
                if (++copied % PART_RECORDS == 0) {
                    part.store();
                }
            }
        } finally {
            copying = false;
            written = 0;
        }
    }

    /**
     * Called before each sync.
     *
     * @param adds whether records may be added; what is not needed any more goes in any case
     */
    void compact(long nowMillis, boolean adds) {
        long below = adds ? log.rewritesBelow() : 0;
        for (int left = Math.max(REWRITES_MIN, written); left > 0 && oldestId() < below; left--) {
            oldest().next().getValue().rewrite(nowMillis);
        }
        written = 0;
        log.keepsFrom(oldestId());
    }

    private long oldestId() {
        return kept.isEmpty() ? Long.MAX_VALUE : oldest().next().getKey();
    }

    private Iterator<Map.Entry<Long, Rewriter>> oldest() {
        return kept.entrySet().iterator();
    }
}
