package dev.palisade.cli.term;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Text format of durations and points in time, for people. Programs read the JSON output instead. */
public final class TimeFormat {
    private static final DateTimeFormatter ISO = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ssXXX", Locale.ROOT);
    private static final String UNKNOWN = "?";

    private TimeFormat() {}

    /** Such as {@code 0.3 s}, {@code 12 s}, {@code 4 min}, {@code 3 h 20 min}, {@code 5 d 2 h}. */
    public static String duration(Duration length) {
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

    /** A duration from a server; a negative one is invalid and becomes {@code ?}. */
    public static String durationMillis(long millis) {
        return millis < 0 ? UNKNOWN : duration(Duration.ofMillis(millis));
    }

    /** {@code 3.0 s ago (2026-11-21T14:05:06+01:00)}, in the time zone {@code zone}. */
    public static String ago(Instant at, Instant now, ZoneId zone) {
        return duration(Duration.between(at, now)) + " ago (" + at(at, zone) + ")";
    }

    /** {@link #ago} of an age from a server; a negative age is invalid and becomes {@code ?}. */
    public static String agoMillis(long millis, Instant now, ZoneId zone) {
        return millis < 0 ? UNKNOWN : ago(now.minusMillis(millis), now, zone);
    }

    /** {@code 2026-11-21T14:05:06+01:00}. */
    public static String at(Instant at, ZoneId zone) {
        return ISO.format(at.atZone(zone));
    }
}
