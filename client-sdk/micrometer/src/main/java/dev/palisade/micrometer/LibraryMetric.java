package dev.palisade.micrometer;

import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import io.micrometer.core.instrument.Meter;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The catalogue of the metrics of {@link ClientMetrics} and {@link GuardMetrics}. Each has at most one label of its own, and the label's
 * values are the constants of an enum: never the name of a lock. {@code docs/reference/metrics.md} is generated from it.
 */
public enum LibraryMetric {
    CLIENT_ACQUIRE(
            "palisade.client.acquire",
            Meter.Type.TIMER,
            "outcome",
            AcquireOutcome.class,
            "From the call of an acquire to its result, with the time in queues.",
            "Many `busy` or `timed_out`: the lock is contended; see `palisade_client_hold_seconds` of all its clients."
                    + " `unavailable`: the lock servers cannot be reached or cannot decide. `failed`: the request was refused,"
                    + " and the exception has the reason."),
    CLIENT_WAIT(
            "palisade.client.wait",
            Meter.Type.TIMER,
            "outcome",
            AcquireOutcome.class,
            "From joining a queue to the result of an acquire. An acquire that is granted at once is not in it.",
            "Long waits: a lock is contended, or held too long."),
    CLIENT_HOLD(
            "palisade.client.hold",
            Meter.Type.TIMER,
            "end",
            LeaseEnd.class,
            "From the grant of a lease to its release or loss.",
            "A longer hold makes every waiter wait longer: do less under the lock."),
    CLIENT_LEASES_LOST(
            "palisade.client.leases.lost",
            Meter.Type.COUNTER,
            "cause",
            LostReason.class,
            "Leases that were lost while they were held.",
            "`expired` or `server_unreachable`: this process was paused, or its network broke, for longer than the lease."
                    + " `force_released`: an operator did it. `client_closed`: the client was closed before its leases."),
    CLIENT_LEASES(
            "palisade.client.leases",
            Meter.Type.GAUGE,
            "",
            null,
            "Leases that the client holds.",
            "A steady rise: leases are not closed."),
    CLIENT_WAITING(
            "palisade.client.waiting",
            Meter.Type.GAUGE,
            "",
            null,
            "Acquires without a result yet.",
            "A steady rise: more threads want the lock than it can serve."),
    CLIENT_CONNECTED(
            "palisade.client.connected",
            Meter.Type.GAUGE,
            "",
            null,
            "1 if the client has a session with a lock server, 0 if not.",
            "0 for longer than a restart: check the address, the network and the lock servers."),
    CLIENT_RECONNECTS(
            "palisade.client.reconnects",
            Meter.Type.COUNTER,
            "",
            null,
            "Sessions with a lock server after the first.",
            "Without a restart of a lock server: the network breaks, or this process is paused."),
    GUARD_ADMISSION(
            "palisade.guard.admission",
            Meter.Type.TIMER,
            "outcome",
            AdmissionOutcome.class,
            "From the arrival of a call at the guard to its admission or refusal.",
            "A slow `admitted`: calls of older grants have not ended, or the mark store is slow."
                    + " `left`: callers give up before the guard has decided."),
    GUARD_ADMISSIONS(
            "palisade.guard.admissions", Meter.Type.COUNTER, "", null, "Calls that the guard let in.", "The load."),
    GUARD_REFUSALS(
            "palisade.guard.refusals",
            Meter.Type.COUNTER,
            "reason",
            Reason.class,
            "Calls that the guard refused, by [reason](reasons.md).",
            "`TOKEN_STALE`: the guard did its work; find out why the client was late. `SEQUENCER_MISSING`: a client does"
                    + " not send its sequencer. `DRAINING`: calls do not end in time."),
    GUARD_OBSERVED_REFUSALS(
            "palisade.guard.observed.refusals",
            Meter.Type.COUNTER,
            "reason",
            Reason.class,
            "Calls that a guard which only observes let in, and would have refused.",
            "Wait for 0 before the guard is turned on."),
    GUARD_WAITING(
            "palisade.guard.waiting",
            Meter.Type.GAUGE,
            "",
            null,
            "Calls that wait at the guard.",
            "A rise: calls of older grants do not end, or marks are not durable in time."),
    GUARD_RUNNING(
            "palisade.guard.running",
            Meter.Type.GAUGE,
            "",
            null,
            "Calls that were let in and have not ended.",
            "A steady rise: admissions are not closed."),
    GUARD_SUPERSEDED(
            "palisade.guard.superseded",
            Meter.Type.COUNTER,
            "",
            null,
            "Drains: running calls that were asked to stop, because a newer grant waited for them.",
            "Leases end while their calls run: acquire with a longer ttl, or make the calls shorter."),
    GUARD_QUARANTINES(
            "palisade.guard.quarantines",
            Meter.Type.COUNTER,
            "",
            null,
            "Calls whose outcome became unknown while they ran.",
            "The backend times out or breaks connections. Each closes its resource to newer grants for a while."),
    GUARD_QUARANTINED(
            "palisade.guard.quarantined",
            Meter.Type.GAUGE,
            "",
            null,
            "Calls in quarantine.",
            "Their resources are closed to newer grants until the end is known, or until the time-out for unknown outcomes."),
    GUARD_MARKS(
            "palisade.guard.marks",
            Meter.Type.GAUGE,
            "",
            null,
            "Resources that the guard remembers; with a shared register, those in use at this guard.",
            "At `maxMarks` the oldest marks are evicted, and holders of old grants have to acquire again."),
    GUARD_SERVING(
            "palisade.guard.serving",
            Meter.Type.GAUGE,
            "",
            null,
            "1 if the guard admits calls, 0 if not.",
            "0: `Guard.refusal()` and the log have the cause."),
    GUARD_LOG_LINES_DROPPED(
            "palisade.guard.log.lines.dropped",
            Meter.Type.COUNTER,
            "",
            null,
            "Lines that are missing in the guard's event log, because one event came more than 10 times a second.",
            "The log says how many lines of which event are missing.");

    enum AcquireOutcome {
        GRANTED,
        BUSY,
        TIMED_OUT,
        UNAVAILABLE,
        FAILED
    }

    enum LeaseEnd {
        RELEASED,
        LOST
    }

    enum AdmissionOutcome {
        ADMITTED,
        REFUSED,
        LEFT
    }

    private final String meter;
    private final Meter.Type type;
    private final String labelKey;
    private final @Nullable Class<? extends Enum<?>> labels;
    private final String meaning;
    private final String advice;

    LibraryMetric(
            String meter,
            Meter.Type type,
            String labelKey,
            @Nullable Class<? extends Enum<?>> labels,
            String meaning,
            String advice) {
        this.meter = meter;
        this.type = type;
        this.labelKey = labelKey;
        this.labels = labels;
        this.meaning = meaning;
        this.advice = advice;
    }

    /** The name in Micrometer. */
    public String meter() {
        return meter;
    }

    /** What it measures, in plain sentences. */
    public String meaning() {
        return meaning;
    }

    /** What an operator does when it moves. */
    public String advice() {
        return advice;
    }

    /** The name in Prometheus, without the suffixes of a histogram's series. */
    public String exposedName() {
        String name = meter.replace('.', '_');
        return switch (type) {
            case TIMER -> name + "_seconds";
            case COUNTER -> name + "_total";
            default -> name;
        };
    }

    /** The type in Prometheus. */
    public String exposedType() {
        return type == Meter.Type.TIMER ? "histogram" : type.name().toLowerCase(Locale.ROOT);
    }

    /** The label's key; empty without a label. */
    public String labelKey() {
        return labelKey;
    }

    /** Every value that the label can have; empty without a label. */
    public List<String> labelValues() {
        return labels == null
                ? List.of()
                : Arrays.stream(labels.getEnumConstants())
                        .map(LibraryMetric::labelValue)
                        .toList();
    }

    /** Reasons as clients see them, all others in lower case. */
    static String labelValue(Enum<?> value) {
        return value instanceof Reason ? value.name() : value.name().toLowerCase(Locale.ROOT);
    }
}
