package dev.palisade.server;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.hook.DefaultShutdownHook;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log of a lock server's process, on standard error. Set up in code: reading a file of XML is a tenth of a start. */
final class ServerLog {
    private static final String PATTERN = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5level %logger{0}: %msg%n";
    /** All lines of a forced release of a lock's 2,000 holders. */
    private static final int QUEUED_LINES_MAX = 4_096;

    private static final int FLUSH_MILLIS_MAX = 900;

    private static final String UNWAITED = "unwaited";

    private ServerLog() {}

    /** Counts the lines that found its queue full, which are left out. */
    private static final class Unwaited extends AsyncAppender {
        private final AtomicLong leftOut = new AtomicLong();

        @Override
        protected void append(ILoggingEvent event) {
            if (getRemainingCapacity() == 0) {
                leftOut.incrementAndGet();
            }
            super.append(event);
        }
    }

    /** Lines that were left out because standard error is not read; 0 where a file of the user's sets up the logging. */
    static long leftOut() {
        return LoggerFactory.getILoggerFactory() instanceof LoggerContext log
                        && log.getLogger(Logger.ROOT_LOGGER_NAME).getAppender(UNWAITED) instanceof Unwaited unwaited
                ? unwaited.leftOut.get()
                : 0;
    }

    /** Leaves the logging to a file that the user named with {@code -Dlogback.configurationFile}. */
    static void setUp() {
        if (System.getProperty("logback.configurationFile") == null
                && LoggerFactory.getILoggerFactory() instanceof LoggerContext log) {
            setUp(log);
        }
    }

    static void setUp(LoggerContext log) {
        log.reset();
        log.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.WARN);
        log.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(unwaited(log));
        log.getLogger("dev.palisade").setLevel(Level.INFO);
        // The Redis link logs these failures itself.
        log.getLogger("io.lettuce").setLevel(Level.ERROR);
        // A promise that ends after its event loop has no listener left.
        log.getLogger("io.netty.util.concurrent.DefaultPromise.rejectedExecution")
                .setLevel(Level.OFF);
        DefaultShutdownHook hook = new DefaultShutdownHook();
        hook.setContext(log);
        Runtime.getRuntime().addShutdownHook(new Thread(hook, "palisade-log-flush"));
    }

    /**
     * Events are logged by the threads that grant. Standard error may be a pipe without a reader: then lines are left out, and
     * no thread waits.
     */
    private static AsyncAppender unwaited(LoggerContext log) {
        AsyncAppender unwaited = new Unwaited();
        unwaited.setContext(log);
        unwaited.setName(UNWAITED);
        unwaited.setQueueSize(QUEUED_LINES_MAX);
        unwaited.setDiscardingThreshold(0);
        unwaited.setNeverBlock(true);
        unwaited.setMaxFlushTime(FLUSH_MILLIS_MAX);
        unwaited.addAppender(standardError(log));
        unwaited.start();
        return unwaited;
    }

    private static ConsoleAppender<ILoggingEvent> standardError(LoggerContext log) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(log);
        encoder.setPattern(PATTERN);
        encoder.start();
        ConsoleAppender<ILoggingEvent> standardError = new ConsoleAppender<>();
        standardError.setContext(log);
        standardError.setName("stderr");
        standardError.setTarget("System.err");
        standardError.setEncoder(encoder);
        standardError.start();
        return standardError;
    }
}
