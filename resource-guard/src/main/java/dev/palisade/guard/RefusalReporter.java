package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Rejection;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Bounded best-effort reporter of a guard's refusals to its lock service. It never waits, and no call waits for it: a refusal is put
 * into a queue, equal ones together, and one report at a time is sent by the guard's timer. When the queue is full the oldest is dropped
 * and counted. Safe for use by many threads.
 */
final class RefusalReporter {
    /** Kinds of refusals that wait to be reported, and the most of one report. */
    static final int QUEUE_MAX = 100;

    private static final int GUARD_BYTES_MAX = 256;
    private static final long GATHER_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long BACKOFF_MIN_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long BACKOFF_MAX_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long UNSUPPORTED_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final LockService service;
    private final Time time;
    private final EventLog events;
    private final Supplier<String> guard;
    private Map<RefusedKind, RefusedKind.Times> queue = new LinkedHashMap<>();
    /** Whether a timer is set for the next report, or a report is on its way. */
    private boolean scheduled;

    private long backoffNanos;
    private long dropped;
    private boolean closed;
    /** Of the report that is on its way. */
    private @Nullable CompletionStage<?> onItsWay;

    /** @param guard what it protects, for people */
    RefusalReporter(LockService service, Time time, EventLog events, Supplier<String> guard) {
        this.service = service;
        this.time = time;
        this.events = events;
        this.guard = guard;
    }

    /** Queues a refusal; one that names no lock, token or resource is not reported. */
    void add(Rejection rejection) {
        RefusedKind kind = RefusedKind.of(rejection);
        if (kind == null) {
            return;
        }
        RefusedKind.Times times = RefusedKind.Times.now(rejection, time);
        boolean schedules;
        synchronized (this) {
            if (closed) {
                return;
            }
            put(kind, times);
            schedules = !scheduled;
            scheduled = true;
        }
        if (schedules) {
            sendAfter(GATHER_NANOS);
        }
    }

    /** Reports no more, and waits for nothing. */
    synchronized void close() {
        closed = true;
        queue.clear();
    }

    /**
     * Sends what waits, and reports no more afterwards. Blocks for {@code nanos} at most: a process that ends because a call of it was
     * refused is the one whose report is wanted.
     */
    void closeAfterReport(long nanos) throws InterruptedException {
        long end = time.nanos() + nanos;
        try {
            CompletionStage<?> before = reportInFlight();
            if (before != null) {
                await(before, end);
            }
            Map<RefusedKind, RefusedKind.Times> batch = taken();
            if (!batch.isEmpty()) {
                await(report(batch), end);
            }
        } catch (ExecutionException | TimeoutException e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            events.tell(
                    "refusals_not_reported",
                    "message",
                    why instanceof TimeoutException
                            ? "no reply within " + TimeUnit.NANOSECONDS.toMillis(nanos)
                                    + " ms, and the reporter was closed"
                            : String.valueOf(why.getMessage()));
        } finally {
            close();
        }
    }

    private synchronized @Nullable CompletionStage<?> reportInFlight() {
        return onItsWay;
    }

    private synchronized Map<RefusedKind, RefusedKind.Times> taken() {
        Map<RefusedKind, RefusedKind.Times> batch = queue;
        queue = new LinkedHashMap<>();
        return batch;
    }

    private void await(CompletionStage<?> report, long end)
            throws InterruptedException, ExecutionException, TimeoutException {
        report.toCompletableFuture().get(Math.max(0, end - time.nanos()), TimeUnit.NANOSECONDS);
    }

    private void put(RefusedKind kind, RefusedKind.Times times) {
        queue.merge(kind, times, RefusedKind.Times::and);
        if (queue.size() > QUEUE_MAX) {
            RefusedKind oldest = queue.keySet().iterator().next();
            RefusedKind.@Nullable Times gone = queue.remove(oldest);
            dropped += gone == null ? 0 : gone.count();
        }
    }

    private void sendAfter(long nanos) {
        time.at(time.nanos() + nanos, this::send);
    }

    private void send() {
        Map<RefusedKind, RefusedKind.Times> batch;
        synchronized (this) {
            if (closed || queue.isEmpty()) {
                scheduled = false;
                return;
            }
            batch = taken();
        }
        CompletionStage<Boolean> report = report(batch);
        synchronized (this) {
            onItsWay = report;
        }
        var unused = report.whenComplete((taken, failure) -> sent(batch, taken, failure));
    }

    private CompletionStage<Boolean> report(Map<RefusedKind, RefusedKind.Times> batch) {
        long now = time.nanos();
        List<LockService.RefusedCalls> report = new ArrayList<>();
        batch.forEach((kind, times) -> report.add(kind.report(times, now)));
        return reported(report);
    }

    /** A lock service of the application's may throw. */
    private CompletionStage<Boolean> reported(List<LockService.RefusedCalls> report) {
        try {
            return service.reportRefusals(cut(guard.get()), report);
        } catch (RuntimeException e) {
            return CompletableFuture.failedStage(e);
        }
    }

    private void sent(Map<RefusedKind, RefusedKind.Times> batch, @Nullable Boolean taken, @Nullable Throwable failure) {
        long wait;
        long lost = 0;
        String problem = "";
        synchronized (this) {
            onItsWay = null;
            if (closed) {
                return;
            }
            if (failure != null) {
                problem = backoffNanos == 0 ? String.valueOf(failure.getMessage()) : "";
                backoffNanos = Math.min(BACKOFF_MAX_NANOS, Math.max(BACKOFF_MIN_NANOS, backoffNanos * 2));
                wait = backoffNanos;
                Map<RefusedKind, RefusedKind.Times> newer = queue;
                queue = new LinkedHashMap<>(batch);
                newer.forEach(this::put);
            } else {
                backoffNanos = 0;
                wait = Boolean.TRUE.equals(taken) ? GATHER_NANOS : UNSUPPORTED_NANOS;
                lost = dropped;
                dropped = 0;
            }
        }
        if (!problem.isEmpty()) {
            events.tell("refusals_not_reported", "message", problem);
        } else if (lost > 0) {
            events.tell("refusals_dropped", "count", lost);
        }
        sendAfter(wait);
    }

    /** The beginning of a text, as long as a report may have it. */
    private static String cut(String text) {
        StringBuilder beginning = new StringBuilder();
        int bytes = 0;
        for (int character : text.codePoints().toArray()) {
            String one = Character.toString(character);
            bytes += one.getBytes(StandardCharsets.UTF_8).length;
            if (bytes > GUARD_BYTES_MAX) {
                break;
            }
            beginning.append(one);
        }
        return beginning.toString();
    }
}
