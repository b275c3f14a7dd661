package dev.palisade.client;

import java.lang.System.Logger.Level;
import java.util.Locale;
import java.util.function.BiConsumer;

/**
 * A log of the outages of all lock servers together: one line when an outage has begun and one when it is over, however
 * many attempts fail meanwhile. A stream that breaks is no outage while another server, or the same one, takes the
 * next. In the loop only.
 */
final class OutageLog {
    private static final System.Logger LOG = System.getLogger(OutageLog.class.getName());

    private final String servers;
    private final int attemptsOfAll;
    private final BiConsumer<Level, String> lines;
    /** Failed attempts since a server last accepted a stream. */
    private int failures;

    private long firstFailureNanos;
    private boolean open;

    /**
     * @param servers their addresses, for people
     * @param count how many there are; they are tried in turn
     */
    OutageLog(String servers, int count) {
        this(servers, count, LOG::log);
    }

    OutageLog(String servers, int count, BiConsumer<Level, String> lines) {
        this.servers = servers;
        this.attemptsOfAll = count;
        this.lines = lines;
    }

    /** Records a failed attempt to open a stream. */
    void failed(long nowNanos, String why) {
        if (failures == 0) {
            firstFailureNanos = nowNanos;
        }
        failures++;
        if (failures >= attemptsOfAll && !open) {
            open = true;
            lines.accept(
                    Level.WARNING,
                    "no lock server takes this client (" + servers + "): " + why
                            + "; it tries again until one does, and" + " leases are lost at their deadlines");
        }
    }

    /** Records that a server accepted a stream. */
    void connected(long nowNanos, String server) {
        if (open) {
            lines.accept(
                    Level.INFO,
                    String.format(
                            Locale.ROOT,
                            "lock server %s takes this client again, after %.1f s and %d attempts",
                            server,
                            (nowNanos - firstFailureNanos) / 1e9,
                            failures));
        }
        open = false;
        failures = 0;
    }
}
