package dev.palisade.objects;

import ch.qos.logback.classic.LoggerContext;
import dev.palisade.contract.cli.ShutdownOutput;
import java.time.Duration;
import org.slf4j.LoggerFactory;

/**
 * Graceful shutdown of `palisade objects`: drains the calls, closes the database, and ends in bounded time even when
 * a step hangs.
 */
final class GracefulShutdown {
    /** Minimum time for closing the database, also when the calls have used the whole drain time. */
    private static final Duration CLOSING_LEAST = Duration.ofSeconds(1);

    private GracefulShutdown() {}

    /**
     * @param drain for the calls and for closing the database together. Does not return when closing hangs: the
     *     process ends
     */
    static void run(ObjectsServer server, Duration drain) throws InterruptedException {
        long deadline = System.nanoTime() + drain.toNanos();
        ShutdownOutput.print(System.out, "palisade objects: stopping");
        if (!server.drain(drain)) {
            ShutdownOutput.print(
                    System.err,
                    "palisade objects: some calls did not end within " + drain.toMillis()
                            + " ms and were cut off; whether they were applied is not known");
        }
        Duration left = Duration.ofNanos(deadline - System.nanoTime());
        if (!server.close(left.compareTo(CLOSING_LEAST) < 0 ? CLOSING_LEAST : left)) {
            ShutdownOutput.run(GracefulShutdown::flushLog);
            ShutdownOutput.print(
                    System.err,
                    "palisade objects: the database could not be closed within " + drain.toMillis()
                            + " ms (it, or its disk, does not answer), stopping at once; nothing that was answered is lost");
            // Not exit: the database has a shutdown hook of its own, which would hang too.
            Runtime.getRuntime().halt(0);
        }
        ShutdownOutput.print(System.out, "palisade objects: stopped");
    }

    /** A process that halts runs no shutdown hook, which flushes the log at an ordinary end. */
    private static void flushLog() {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext log) {
            log.stop();
        }
    }
}
