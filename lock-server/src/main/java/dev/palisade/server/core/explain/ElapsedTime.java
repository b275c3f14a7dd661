package dev.palisade.server.core.explain;

import java.util.Locale;

/** Text of a length of time, for people. */
final class ElapsedTime {
    private ElapsedTime() {}

    /** Such as {@code 0.3 s}, {@code 12 s}, {@code 4 min}, {@code 3 h 20 min}; a negative length is {@code 0.0 s}. */
    static String text(long millis) {
        if (millis < 10_000) {
            return String.format(Locale.ROOT, "%.1f s", Math.max(0, millis) / 1_000.0);
        }
        long seconds = millis / 1_000;
        if (seconds < 120) {
            return seconds + " s";
        }
        long minutes = seconds / 60;
        return minutes < 120 ? minutes + " min" : minutes / 60 + " h " + minutes % 60 + " min";
    }
}
