package dev.palisade.server.store.log;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Batches that a log keeps. The oldest ones go when no record that began in them is kept; when that would take too long, old
 * records are to be written anew. Used by one thread at a time.
 */
public final class LogSpace {
    /** A log that is not larger is left as it is. */
    static final long SMALL_BYTES = 4 << 20;
    /** Fewer batches, and fewer bytes, are not worth a command. */
    static final int DROPS_MIN = 64;

    private static final int DROPS_MIN_BYTES = 1 << 18;
    /** A storage may do nothing else meanwhile. */
    static final int DROPS_MAX = 500;

    private final Deque<Stored> batches = new ArrayDeque<>();
    private long bytes;
    /** Of all batches ever. */
    private long written;

    private long sizeMax = SMALL_BYTES;
    private long rewritesBelow;
    private long writtenBefore;

    /** @param firstId records that began in earlier batches have smaller ids */
    private record Stored(long number, long firstId, int bytes) {}

    /** A batch is stored, the one with the largest number so far. */
    public void stored(long number, long firstId, int size) {
        batches.add(new Stored(number, firstId, size));
        bytes += size;
        written += size;
    }

    /** Batches with smaller numbers are gone. */
    public void dropped(long first) {
        for (Stored oldest = batches.peek(); oldest != null && oldest.number < first; oldest = batches.peek()) {
            bytes -= oldest.bytes;
            batches.remove();
        }
    }

    /** Number of the batches that are stored. */
    int count() {
        return batches.size();
    }

    /** How many batches have numbers from {@code first} up to {@code end}, exclusive. */
    int count(long first, long end) {
        int count = 0;
        for (Stored each : batches) {
            if (each.number >= end) {
                break;
            }
            count += each.number >= first ? 1 : 0;
        }
        return count;
    }

    /**
     * The first batch that has to be kept.
     *
     * @param first the one so far
     * @param oldestId smallest id of a record that is kept
     */
    public long firstKept(long first, long oldestId) {
        long number = first;
        int drops = 0;
        long size = 0;
        long sizeOfLast = 0;
        for (Stored each : batches) {
            if (drops > DROPS_MAX || each.firstId > oldestId) {
                break;
            }
            if (each.number > first) {
                number = each.number; // The batches before it go.
                drops++;
                size += sizeOfLast;
            }
            sizeOfLast = each.number < first ? 0 : each.bytes;
        }
        return drops < DROPS_MIN && size < DROPS_MIN_BYTES ? first : number;
    }

    /**
     * Below which id records are to be written anew; 0 for none.
     *
     * @param oldestId smallest id of a record that is kept
     * @param nextId larger than that of each record
     */
    public long rewritesBelow(long oldestId, long nextId) {
        if (rewritesBelow != 0 && oldestId >= rewritesBelow) {
            rewritesBelow = 0;
            sizeMax = Math.max(SMALL_BYTES, 2 * (written - writtenBefore));
        }
        boolean begins = rewritesBelow == 0 && bytes > sizeMax;
        if (begins && firstKept(0, oldestId) == 0) {
            rewritesBelow = nextId;
            writtenBefore = written;
        }
        return rewritesBelow;
    }
}
