package dev.palisade.objects;

import ch.qos.logback.classic.LoggerContext;
import dev.palisade.contract.cli.LastWords;
import java.time.Duration;
import org.slf4j.LoggerFactory;

/** How `palisade objects` ends: drained, its database closed, and in bounded time whatever hangs. */
final class Ending {
    /** For closing the database, also when the calls have taken all the time there was. */
    private static final Duration CLOSING_LEAST = Duration.ofSeconds(1);

    private Ending() {}

    /** @param drain for the calls and for closing the database together. Does not return when that hangs: the process ends */
    static void of(ObjectsServer server, Duration drain) throws InterruptedException {
        long deadline = System.nanoTime() + drain.toNanos();
        LastWords.say(System.out, "palisade objects: stopping");
        if (!server.drain(drain)) {
            LastWords.say(
                    System.err,
                    "palisade objects: some calls did not end within " + drain.toMillis()
                            + " ms and were cut off; whether they were applied is not known");
        }
        Duration left = Duration.ofNanos(deadline - System.nanoTime());
        if (!server.close(left.compareTo(CLOSING_LEAST) < 0 ? CLOSING_LEAST : left)) {
            LastWords.within(Ending::flushLog);
            LastWords.say(
                    System.err,
                    "palisade objects: the database could not be closed within " + drain.toMillis()
                            + " ms (it, or its disk, does not answer), stopping at once; nothing that was answered is lost");
            // Not exit: the database has a shutdown hook of its own, which would hang too.
            Runtime.getRuntime().halt(0);
        }
        LastWords.say(System.out, "palisade objects: stopped");
    }

    /** A process that halts runs no shutdown hook, which does this at an ordinary end. */
    private static void flushLog() {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext log) {
            log.stop();
        }
    }
}
