package dev.palisade.client;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * A bounded history of the send times of one stream's frames, by both clocks. It finds the clock reading of an echoed
 * {@code sent_nanos}. Pure; it keeps one reading per 50 ms, for the last few seconds. No reading is found for an older
 * echo: what came with it counts as old.
 */
final class SendTimeHistory {
    private static final long SPACING_NANOS = 50_000_000;
    private static final int READINGS_MAX = 128;

    private final ArrayDeque<ClockReading> readings = new ArrayDeque<>();
    private long newestNanos;

    /** Records that a frame is sent now. */
    void record(ClockReading now) {
        newestNanos = now.nanos();
        if (!readings.isEmpty() && now.nanos() - readings.peekLast().nanos() < SPACING_NANOS) {
            return;
        }
        if (readings.size() == READINGS_MAX) {
            readings.removeFirst();
        }
        readings.addLast(now);
    }

    /**
     * The clock reading of an echo; null if the server saw no frame (0), if none was sent then, or if the echo is too
     * old. Within the spacing the wall clock is that of the reading before: a clock stepped forward since then shortens
     * the lease.
     */
    @Nullable
    ClockReading at(long seenSentNanos) {
        if (seenSentNanos == 0 || readings.isEmpty() || seenSentNanos - newestNanos > 0) {
            return null;
        }
        var newestFirst = readings.descendingIterator();
        while (newestFirst.hasNext()) {
            ClockReading reading = newestFirst.next();
            if (seenSentNanos - reading.nanos() >= 0) {
                return new ClockReading(seenSentNanos, reading.wallMillis());
            }
        }
        return null;
    }
}
