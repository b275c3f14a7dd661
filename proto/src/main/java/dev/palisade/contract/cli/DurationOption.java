package dev.palisade.contract.cli;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a time as people write it: {@code 500ms}, {@code 10s}, {@code 5m}, {@code 24h}. */
public final class DurationOption implements ITypeConverter<Duration> {
    private static final Pattern FORM = Pattern.compile("(\\d{1,9})(ms|s|m|h)");

    @Override
    public Duration convert(String value) {
        Matcher matcher = FORM.matcher(value);
        if (!matcher.matches()) {
            throw new TypeConversionException("'" + value + "' is not a time; write 500ms, 10s, 5m or 24h");
        }
        long amount = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            default -> Duration.ofHours(amount);
        };
    }

    /** {@code time}, which was read by this class, in the form that it reads: a message repeats it as people write it. */
    public static String text(Duration time) {
        if (time.isZero() || time.toMillisPart() != 0) {
            return time.isZero() ? "0s" : time.toMillis() + "ms";
        }
        if (time.toSecondsPart() != 0) {
            return time.toSeconds() + "s";
        }
        return time.toMinutesPart() == 0 ? time.toHours() + "h" : time.toMinutes() + "m";
    }
}
