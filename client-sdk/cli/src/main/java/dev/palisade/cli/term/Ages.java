package dev.palisade.cli.term;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Times as people say them. */
public final class Ages {
    private static final DateTimeFormatter ABSOLUTE = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss", Locale.ROOT);

    private Ages() {}

    /** Such as {@code 0.3 s}, {@code 12 s}, {@code 4 min}, {@code 3 h 20 min}, {@code 5 d 2 h}. */
    public static String of(Duration length) {
        Duration shown = length.isNegative() ? Duration.ZERO : length;
        if (shown.compareTo(Duration.ofSeconds(10)) < 0) {
            return String.format(Locale.ROOT, "%.1f s", shown.toMillis() / 1000.0);
        }
        if (shown.compareTo(Duration.ofMinutes(2)) < 0) {
            return shown.toSeconds() + " s";
        }
        if (shown.compareTo(Duration.ofHours(2)) < 0) {
            return shown.toMinutes() + " min";
        }
        if (shown.compareTo(Duration.ofDays(2)) < 0) {
            return shown.toHours() + " h " + shown.toMinutesPart() + " min";
        }
        return shown.toDays() + " d " + shown.toHoursPart() + " h";
    }

    /** {@code 3.0 s ago (2026-11-21 14:05:06)}, in the time zone {@code zone}. */
    public static String ago(Instant at, Instant now, ZoneId zone) {
        return of(Duration.between(at, now)) + " ago (" + at(at, zone) + ")";
    }

    public static String at(Instant at, ZoneId zone) {
        return ABSOLUTE.format(at.atZone(zone));
    }
}
