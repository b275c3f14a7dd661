package dev.palisade.contract.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Ends the process after an OutOfMemoryError, whichever thread it hits: what is left of the process can neither serve nor stop. The
 * JVM does the same where it was started with {@code -XX:+ExitOnOutOfMemoryError}, and with the same exit code; this covers errors
 * that reach a thread's end or a log in a JVM that was not. Safe for use by many threads.
 */
public final class OutOfMemoryExit {
    /** The exit code: that of the JVM's own flag. */
    public static final int CODE = 3;

    private static final long LINE_MAX_MILLIS = 1_000;

    private static final CountDownLatch HIT = new CountDownLatch(1);
    private static final CountDownLatch SAID = new CountDownLatch(1);

    private OutOfMemoryExit() {}

    /**
     * Watches the ends of all threads. Once in a process, early: what it needs is made now, because later there may be no memory.
     *
     * @param process as in {@code palisade server}, for the line
     */
    public static void install(String process) {
        byte[] line = (process + ": out of memory, stopping (OutOfMemoryError); nothing that was answered is lost:"
                        + " give it more heap with -Xmx, then start again\n")
                .getBytes(StandardCharsets.UTF_8);
        Thread speaker = new Thread(() -> speak(line), "palisade-out-of-memory");
        speaker.setDaemon(true);
        speaker.start();
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            check(failure);
            System.getLogger(OutOfMemoryExit.class.getName())
                    .log(System.Logger.Level.ERROR, "thread " + thread.getName() + " ended", failure);
        });
    }

    private static void speak(byte[] line) {
        try {
            HIT.await();
            // Past System.err, whose lock a thread may hold that waits for a full pipe. Not closed: it is the
            // process's.
            new FileOutputStream(FileDescriptor.err).write(line);
        } catch (InterruptedException | IOException | OutOfMemoryError e) {
            // The exit code says it, too.
        } finally {
            SAID.countDown();
        }
    }

    /** Ends the process if {@code failure}, or what caused it, is an OutOfMemoryError; returns otherwise. */
    public static void check(@Nullable Throwable failure) {
        int depth = 0;
        for (Throwable each = failure; each != null && depth < 20; each = each.getCause(), depth++) {
            // Not Netty's subclass for its own direct memory: that one fails a connection, which frees it.
            if (each.getClass() == OutOfMemoryError.class) {
                end();
            }
        }
    }

    private static void end() {
        try {
            HIT.countDown();
            SAID.await(LINE_MAX_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException | OutOfMemoryError e) {
            // Ends all the same.
        } finally {
            Runtime.getRuntime().halt(CODE);
        }
    }
}
