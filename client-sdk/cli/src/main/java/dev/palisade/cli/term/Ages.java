package dev.palisade.cli.term;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Times and lengths of time, for people. */
public final class Ages {
    private static final DateTimeFormatter ISO = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ssXXX", Locale.ROOT);
    private static final String UNKNOWN = "?";

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

    /** A length that a server sent: a negative one is none, and shown as {@code ?}. */
    public static String ofMillis(long millis) {
        return millis < 0 ? UNKNOWN : of(Duration.ofMillis(millis));
    }

    /** A count that a server sent: a negative one is shown as {@code ?}. */
    public static String count(int number) {
        return number < 0 ? UNKNOWN : String.valueOf(number);
    }

    /** {@code 3.0 s ago (2026-11-21T14:05:06+01:00)}, in the time zone {@code zone}. */
    public static String ago(Instant at, Instant now, ZoneId zone) {
        return of(Duration.between(at, now)) + " ago (" + at(at, zone) + ")";
    }

    /** {@link #ago} of a moment that a server says was {@code millis} ago; {@code ?} when that is negative. */
    public static String agoMillis(long millis, Instant now, ZoneId zone) {
        return millis < 0 ? UNKNOWN : ago(now.minusMillis(millis), now, zone);
    }

    /** {@code 2026-11-21T14:05:06+01:00}. */
    public static String at(Instant at, ZoneId zone) {
        return ISO.format(at.atZone(zone));
    }
}
