package dev.palisade.objects;

import dev.palisade.contract.RejectedException;
import java.sql.SQLException;
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The periodic task that applies a {@link LogRetention}. A failure is logged, and the next run tries again. */
final class LogCleanup implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LogCleanup.class);
    private static final int PERIOD_SECONDS = 60;

    private final DataSource dataSource;
    private final LogRetention retention;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "palisade-objects-log-cleanup");
        thread.setDaemon(true);
        return thread;
    });

    LogCleanup(DataSource dataSource, LogRetention retention) {
        this.dataSource = dataSource;
        this.retention = retention;
    }

    /** @param clock asked once for each run */
    void start(Supplier<Instant> clock) {
        var unused = timer.scheduleWithFixedDelay(() -> run(clock.get()), 0, PERIOD_SECONDS, TimeUnit.SECONDS);
    }

    /** Drops all that is to be dropped at {@code now}, one batch in a transaction. */
    void run(Instant now) {
        try {
            long passed = LogRetention.BATCH_ROWS;
            long inAll = 0;
            while (passed == LogRetention.BATCH_ROWS && !timer.isShutdown()) {
                passed = PlainTransaction.run(dataSource, connection -> retention.drop(connection, now));
                inAll += passed;
            }
            if (inAll > 0) {
                LOG.info("old calls of the applied-log were dropped; 'palisade objects log' says how many in all");
            }
        } catch (SQLException | RejectedException e) {
            LOG.warn(
                    "old rows of the applied-log could not be dropped ({}); the next run is in {} s",
                    String.valueOf(e.getMessage()).lines().findFirst().orElse(""),
                    PERIOD_SECONDS);
        }
    }

    /** Ends after the batch that runs. */
    @Override
    public void close() {
        timer.shutdown();
    }
}
