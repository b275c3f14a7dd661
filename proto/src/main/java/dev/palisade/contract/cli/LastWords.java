package dev.palisade.contract.cli;

import java.io.PrintStream;

/**
 * A line of a process that is about to end. Whoever should read it may not: then the line is lost, and the process ends all the
 * same.
 */
public final class LastWords {
    private static final long WAIT_MILLIS = 1_000;

    private LastWords() {}

    /** Writes {@code line} to {@code stream}, in a second or not at all. */
    public static void say(PrintStream stream, String line) {
        within(() -> {
            stream.println(line);
            stream.flush();
        });
    }

    /** Runs {@code last} and returns when it has ended, or hangs for a second already: it goes on then, in nobody's way. */
    public static void within(Runnable last) {
        Thread speaker = new Thread(last, "palisade-last-words");
        speaker.setDaemon(true);
        speaker.start();
        try {
            speaker.join(WAIT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
