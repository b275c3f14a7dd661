package dev.palisade.gateway;

import com.linecorp.armeria.common.RequestHeaders;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Deadline of one gRPC call: the time its {@code grpc-timeout} gives, counted from its arrival here. Immutable. */
final class GrpcDeadline {
    static final String HEADER = "grpc-timeout";

    private static final Pattern TEXT = Pattern.compile("([0-9]{1,8})([HMSmun])");
    private static final Map<String, TimeUnit> UNITS = Map.of(
            "H", TimeUnit.HOURS,
            "M", TimeUnit.MINUTES,
            "S", TimeUnit.SECONDS,
            "m", TimeUnit.MILLISECONDS,
            "u", TimeUnit.MICROSECONDS,
            "n", TimeUnit.NANOSECONDS);

    /** The most that eight digits can say. */
    private static final long VALUE_MAX = 99_999_999;

    private final long arrivedNanos = System.nanoTime();
    private final long timeoutNanos;

    private GrpcDeadline(long timeoutNanos) {
        this.timeoutNanos = timeoutNanos;
    }

    /** Null when the call has none, or one that only the service can refuse. */
    static @Nullable GrpcDeadline of(RequestHeaders headers) {
        Matcher matcher = TEXT.matcher(headers.get(HEADER, ""));
        TimeUnit unit = matcher.matches() ? UNITS.get(matcher.group(2)) : null;
        return unit == null ? null : new GrpcDeadline(unit.toNanos(Long.parseLong(matcher.group(1))));
    }

    /** Zero when it is over. */
    Duration left() {
        return Duration.ofNanos(Math.max(0, timeoutNanos - (System.nanoTime() - arrivedNanos)));
    }

    /** What is left, as the header has it, rounded down. */
    String text() {
        return text(left().toNanos());
    }

    static String text(long nanos) {
        long micros = TimeUnit.NANOSECONDS.toMicros(nanos);
        if (nanos <= VALUE_MAX) {
            return nanos + "n";
        }
        if (micros <= VALUE_MAX) {
            return micros + "u";
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(nanos);
        return millis <= VALUE_MAX ? millis + "m" : Math.min(VALUE_MAX, TimeUnit.NANOSECONDS.toSeconds(nanos)) + "S";
    }
}
