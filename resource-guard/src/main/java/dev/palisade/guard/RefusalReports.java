package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Rejection;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Best-effort reports of the refusals of fences to the lock service, so that it can explain them: {@code fence.withReports(reports)}. A
 * {@link Guard} with a lock service reports by itself. No call waits for a report. At most 100 kinds of refusals wait; equal ones are
 * counted, and the oldest is dropped and counted when there are more. A report that fails is sent again after 1 s to 1 min. One thread,
 * which {@link #close} ends. Safe for use by many threads and fences.
 */
public final class RefusalReports implements Consumer<Rejection>, AutoCloseable {
    private static final long CLOSING_MAX_NANOS = 1_000_000_000L;

    private final Time time;
    private final RefusalReporter reporter;

    private RefusalReports(Time time, RefusalReporter reporter) {
        this.time = time;
        this.reporter = reporter;
    }

    /**
     * Reports from now on.
     *
     * @param service stays the caller's
     * @param guard which process refuses calls for what data, for people; its first 256 bytes are reported
     */
    public static RefusalReports to(LockService service, String guard) {
        return to(service, guard, new SystemTime());
    }

    static RefusalReports to(LockService service, String guard, Time time) {
        String name = Objects.requireNonNull(guard);
        EventLog events = new EventLog(RefusalCounters::log, time::nanos, EventLog.LINES_PER_SECOND);
        return new RefusalReports(time, new RefusalReporter(service, time, events, () -> name));
    }

    /** Queues a refusal. One that names no lock, token or resource is ignored: nothing of it can be explained. */
    @Override
    public void accept(Rejection why) {
        reporter.add(why);
    }

    /** Sends what waits, for 1 s at most; what cannot be sent by then is lost, and logged. */
    @Override
    public void close() {
        try {
            reporter.closeAfterReport(CLOSING_MAX_NANOS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            time.stop();
        }
    }
}
