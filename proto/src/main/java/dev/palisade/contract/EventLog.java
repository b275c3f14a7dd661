package dev.palisade.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * What an operator searches a log for: one line for each event, {@code event=NAME} and then pairs {@code key=value}. Bounded,
 * because strangers cause events: of one event so many lines a second, then how many more there were. What strangers wrote cannot
 * break a line or pass for a pair. It knows no logging library. Safe for use by many threads.
 */
public final class EventLog {
    /** Lines of one event in one second, unless told otherwise. */
    public static final int LINES_PER_SECOND = 10;

    /** Drops all events; for callers without a log. */
    public static final EventLog NONE = new EventLog(line -> {}, () -> 0, 0);

    private static final long WINDOW_NANOS = 1_000_000_000;
    private static final int VALUE_CHARS_MAX = 300;

    /** A message is the program's own and ends with the remedy; the values that it quotes are bounded where they came in. */
    private static final int MESSAGE_CHARS_MAX = 1_500;

    /** Of a rejection's metadata, which may have come from elsewhere, the names that are our own. */
    private static final List<String> KNOWN = List.of(
            Rejection.LOCK,
            Rejection.RESOURCE,
            Rejection.PRESENTED_TOKEN,
            Rejection.MARK_TOKEN,
            Rejection.MARK_GRANT,
            Rejection.SUPERSEDED_AT_MILLIS,
            Rejection.LIMIT,
            Rejection.RETRY_AFTER_MILLIS);

    private final Consumer<String> lines;
    private final Consumer<String> warnings;
    private final LongSupplier nanoTime;
    private final int linesPerSecond;
    /** Of this second; the names are the program's, and reasons a closed list, so they are few. */
    private final Map<String, Integer> told = new TreeMap<>();

    private boolean open;
    private long windowNanos;
    private long notShown;

    /**
     * @param lines where they go, one at a time; must not throw
     * @param nanoTime a monotonic clock
     * @param linesPerSecond of one event
     */
    public EventLog(Consumer<String> lines, LongSupplier nanoTime, int linesPerSecond) {
        this(lines, lines, nanoTime, linesPerSecond);
    }

    /**
     * With a place of its own for warnings.
     *
     * @param lines where the others go, one at a time; must not throw
     * @param warnings where lines of {@link #warn} go; must not throw
     * @param nanoTime a monotonic clock
     * @param linesPerSecond of one event
     */
    public EventLog(Consumer<String> lines, Consumer<String> warnings, LongSupplier nanoTime, int linesPerSecond) {
        this.lines = lines;
        this.warnings = warnings;
        this.nanoTime = nanoTime;
        this.linesPerSecond = linesPerSecond;
    }

    /**
     * Tells of one event.
     *
     * @param pairs keys, which are the program's own, each followed by its value
     */
    public synchronized void tell(String event, Object... pairs) {
        flush();
        bounded(event, pairs);
    }

    /**
     * Tells of a refusal: what it knows, in an order that does not change, and its message. Of each reason so many lines a second,
     * so that a flood of one hides no other.
     *
     * @param pairs what else is known, as in {@link #tell}
     */
    public synchronized void refused(Rejection rejection, Object... pairs) {
        flush();
        List<Object> all = new ArrayList<>();
        for (String key : KNOWN) {
            String value = rejection.metadata().get(key);
            if (value != null) {
                all.addAll(List.of(key, value));
            }
        }
        all.addAll(List.of(pairs));
        all.addAll(List.of("message", rejection.message()));
        bounded("refused reason=" + rejection.reason(), all.toArray());
    }

    private void bounded(String event, Object... pairs) {
        if (told.merge(event, 1, Integer::sum) <= linesPerSecond) {
            write(lines, event, pairs);
        } else {
            notShown++;
        }
    }

    /** Tells of what an operator did: a line however many there are. Not for anything that a stranger can cause. */
    public synchronized void tellAlways(String event, Object... pairs) {
        flush();
        write(lines, event, pairs);
    }

    /** Warns an operator of something to repair: a line however many there are. Not for anything that a stranger can cause. */
    public synchronized void warn(String event, Object... pairs) {
        flush();
        write(warnings, event, pairs);
    }

    private static void write(Consumer<String> lines, String event, Object... pairs) {
        StringBuilder line = new StringBuilder("event=").append(event);
        for (int i = 0; i < pairs.length; i += 2) {
            line.append(' ').append(pairs[i]).append('=');
            int charsMax = "message".equals(pairs[i]) ? MESSAGE_CHARS_MAX : VALUE_CHARS_MAX;
            appendValue(line, String.valueOf(pairs[i + 1]), charsMax);
        }
        lines.accept(line.toString());
    }

    /** Says how many lines were left out, when the second is over in which they were. To be called every now and then. */
    public synchronized void flush() {
        long now = nanoTime.getAsLong();
        if (open && now - windowNanos < WINDOW_NANOS) {
            return;
        }
        told.forEach((event, count) -> {
            if (count > linesPerSecond) {
                lines.accept("event=" + event + " not_shown=" + (count - linesPerSecond));
            }
        });
        told.clear();
        open = true;
        windowNanos = now;
    }

    /** How many lines were left out since the start. */
    public synchronized long notShown() {
        return notShown;
    }

    private static void appendValue(StringBuilder line, String value, int charsMax) {
        String shown = value.length() > charsMax ? value.substring(0, charsMax) + "..." : value;
        if (!shown.isEmpty() && shown.chars().allMatch(EventLog::isPlain)) {
            line.append(shown);
            return;
        }
        line.append('"');
        for (int i = 0; i < shown.length(); i++) {
            char c = shown.charAt(i);
            if (c == '"' || c == '\\') {
                line.append('\\').append(c);
            } else if (c == ' ' || Character.isLetterOrDigit(c) || (c > ' ' && c < 127)) {
                line.append(c);
            } else {
                // Line breaks of every alphabet, terminal codes, characters that turn the writing around.
                line.append(String.format("\\u%04x", (int) c));
            }
        }
        line.append('"');
    }

    private static boolean isPlain(int c) {
        return (c >= 'a' && c <= 'z')
                || (c >= 'A' && c <= 'Z')
                || (c >= '0' && c <= '9')
                || (c < 127 && "-_./:@+{}".indexOf(c) >= 0);
    }
}
