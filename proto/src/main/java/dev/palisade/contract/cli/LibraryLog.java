package dev.palisade.contract.cli;

import java.util.function.LongSupplier;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.jspecify.annotations.Nullable;

/**
 * Rate-limited {@code java.util.logging} handler: libraries' records go to the process's own log, so many a second, and the rest are
 * counted. The JDK's console handler would block the calling thread while standard error is a full pipe. Safe for use by many
 * threads.
 */
public final class LibraryLog extends Handler {
    /** Records of libraries passed on in one second. */
    static final int RECORDS_PER_SECOND = 10;

    private static final long WINDOW_NANOS = 1_000_000_000;
    private static final SimpleFormatter FORMATTER = new SimpleFormatter();

    private final Sink sink;
    private final LongSupplier nanoTime;
    private boolean open;
    private long windowNanos;
    private int passed;
    private long left;

    /** The process's own log; must not block. */
    public interface Sink {
        void log(String logger, Level level, String message, @Nullable Throwable failure);
    }

    LibraryLog(Sink sink, LongSupplier nanoTime) {
        this.sink = sink;
        this.nanoTime = nanoTime;
    }

    /** Puts this handler in place of all others, and leaves out what strangers can cause at a port. Once in a process. */
    public static void install(Sink sink) {
        LogManager.getLogManager().reset();
        Logger.getLogger("").addHandler(new LibraryLog(sink, System::nanoTime));
        Commands.quietTransport();
    }

    @Override
    public void publish(LogRecord record) {
        OutOfMemoryExit.check(record.getThrown());
        String logger = String.valueOf(record.getLoggerName());
        String message = FORMATTER.formatMessage(record);
        // Ours are bounded where they are made.
        if (!logger.startsWith("dev.palisade.")) {
            long before;
            synchronized (this) {
                long now = nanoTime.getAsLong();
                if (!open || now - windowNanos >= WINDOW_NANOS) {
                    open = true;
                    windowNanos = now;
                    passed = 0;
                }
                if (passed == RECORDS_PER_SECOND) {
                    left++;
                    return;
                }
                passed++;
                before = left;
                left = 0;
            }
            message = before == 0 ? message : message + " (before it " + before + " records not shown)";
        }
        sink.log(logger, record.getLevel(), message, record.getThrown());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
}
