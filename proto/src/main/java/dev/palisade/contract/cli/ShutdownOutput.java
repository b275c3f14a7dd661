package dev.palisade.contract.cli;

import java.io.PrintStream;

/**
 * Output of a process that is about to end. A reader that does not read delays the end by a second at most; the line is lost
 * then.
 */
public final class ShutdownOutput {
    private static final long WAIT_MILLIS = 1_000;

    private ShutdownOutput() {}

    /** Writes {@code line} to {@code stream}, in a second or not at all. */
    public static void print(PrintStream stream, String line) {
        run(() -> {
            stream.println(line);
            stream.flush();
        });
    }

    /** Runs {@code last} on a thread of its own. Returns when it has ended, or after a second while it continues. */
    public static void run(Runnable last) {
        Thread thread = new Thread(last, "palisade-shutdown-output");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(WAIT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
