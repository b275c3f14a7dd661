package dev.palisade.chaos.abuse;

import java.util.List;
import java.util.Locale;

/**
 * What one flood did, and what others saw of it.
 *
 * @param steps how many the server took before its time or count was over
 * @param cutOff how often the server ended the attacker's connection
 * @param timeouts of the probe's calls, after 5 s each
 * @param failures of the probe's calls, other than time-outs
 * @param sessionsLeft of the attacker, 15 s after it had gone at the latest
 * @param meanwhile at the flood's end
 * @param afterwards when the attacker had gone
 * @param broken the bounds that did not hold, in words; empty when all did
 */
record FloodResult(
        Flood flood,
        int steps,
        int cutOff,
        int calls,
        double p50Millis,
        double p99Millis,
        double maxMillis,
        int timeouts,
        int failures,
        boolean lockTaken,
        int sessionsLeft,
        ProcessState meanwhile,
        ProcessState afterwards,
        List<String> broken) {
    static String heading() {
        return String.format(
                Locale.ROOT,
                "%-22s %8s %7s %6s %9s %9s %9s %8s %8s %5s %8s %7s %11s",
                "flood",
                "steps",
                "cut off",
                "calls",
                "p50 ms",
                "p99 ms",
                "max ms",
                "time-out",
                "failed",
                "lock",
                "sessions",
                "RSS MB",
                "open files");
    }

    String row() {
        return String.format(
                Locale.ROOT,
                "%-22s %8d %7d %6d %9.1f %9.1f %9.1f %8d %8d %5s %8d %7d %5d/%5d",
                flood.word(),
                steps,
                cutOff,
                calls,
                p50Millis,
                p99Millis,
                maxMillis,
                timeouts,
                failures,
                lockTaken ? "yes" : "NO",
                sessionsLeft,
                meanwhile.megabytes(),
                meanwhile.files(),
                afterwards.files());
    }
}
