package dev.palisade.demo;

import java.io.PrintStream;
import java.util.Locale;

/** The story as it happens: when, who, what. */
final class Timeline {
    private final PrintStream out;
    private final long startNanos = System.nanoTime();

    Timeline(PrintStream out) {
        this.out = out;
    }

    void say(String who, String what) {
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        out.printf(Locale.ROOT, "%7.3f s  %-8s %s%n", seconds, who, what);
        out.flush();
    }
}
