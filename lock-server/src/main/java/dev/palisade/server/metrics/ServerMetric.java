package dev.palisade.server.metrics;

import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import io.micrometer.core.instrument.Meter;
import io.micrometer.prometheusmetrics.PrometheusNamingConvention;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The catalogue of the server's own metrics. Each has at most one label, and the label's values are the constants of an enum: never
 * the name of a lock, an owner or a principal. {@code docs/reference/metrics.md} is generated from it.
 */
public enum ServerMetric {
    ACQUIRE(
            "palisade.acquire",
            Meter.Type.TIMER,
            "seconds",
            new Label("outcome", AcquireOutcome.class),
            "From the arrival of an acquire to its first answer. The time in a queue is not in it.",
            "`granted` gets slow with the store: see `palisade_store_command_seconds`. Many `busy`: clients try in a loop;"
                    + " let them wait in the queue. `unavailable` or `unknown`: see `palisade_store_up` and the log."),
    WAIT(
            "palisade.wait",
            Meter.Type.TIMER,
            "seconds",
            new Label("end", WaitEnding.class),
            "From joining a queue to the end of the wait. A request that is granted at once is not in it.",
            "Long waits that end as `offered`: a lock is contended, or held too long (`palisade_hold_seconds`)."
                    + " `timed_out`: clients wait for less than that. `dropped`: waiters are paused or cut off."),
    HOLD(
            "palisade.hold",
            Meter.Type.TIMER,
            "seconds",
            new Label("end", LeaseEnd.class),
            "From the grant of a lease to its end, for leases that this process granted.",
            "A longer hold makes every waiter wait longer: find the holder with `palisade list`, its past with"
                    + " `palisade history`."),
    LEASES_GRANTED(
            "palisade.leases.granted",
            Meter.Type.COUNTER,
            null,
            new Label("mode", Mode.class),
            "Leases granted at once, or after an offer that its waiter accepted or released.",
            "The load. A sudden zero with waiters: the holder hangs, or the store is down."),
    LEASES_ENDED(
            "palisade.leases.ended",
            Meter.Type.COUNTER,
            null,
            new Label("end", LeaseEnd.class),
            "Leases that ended, also those that were granted before a restart.",
            "`expired`: holders are paused, cut off or without a session. `abandoned`: client processes crash or lose"
                    + " their connection. `force_released`: an operator did it; the log has the name and the reason."),
    OFFERS(
            "palisade.offers",
            Meter.Type.COUNTER,
            "Offers of a lock that became free to its next waiter.",
            "More offers than waits that end as `offered`: waiters let offers lapse, so they are slow or paused."),
    LEASES(
            "palisade.leases",
            Meter.Type.GAUGE,
            "Leases held by the sessions of this server. Leases of `palisade acquire`, without a session, are not in it.",
            "A steady rise without more clients: leases are not released."),
    WAITERS(
            "palisade.waiters",
            Meter.Type.GAUGE,
            "Requests of the sessions of this server that wait or are being decided.",
            "A steady rise: a lock is not passed on. Find it with `palisade list`."),
    SESSIONS(
            "palisade.sessions",
            Meter.Type.GAUGE,
            null,
            new Label("state", SessionState.class),
            "Client sessions of this server: with a stream, or in the grace after their stream broke.",
            "Many in `grace`: a network or a deployment ended many connections at once. At 10,000 new ones are refused."),
    STREAMS(
            "palisade.streams",
            Meter.Type.GAUGE,
            "Open session streams, also those that have not said hello.",
            "More streams than sessions: clients open streams and do not use them."),
    CONNECTIONS(
            "palisade.connections",
            Meter.Type.GAUGE,
            "Open connections on the gRPC port.",
            "Near the limit of open files or 20,000, idle connections are closed and new ones refused."),
    UNSENT(
            "palisade.unsent",
            Meter.Type.GAUGE,
            "bytes",
            null,
            "Replies and events of session streams that clients have not read yet.",
            "A rise: clients do not read. At a share of the heap, streams with the most unsent bytes are ended."),
    REFUSALS(
            "palisade.refusals",
            Meter.Type.COUNTER,
            null,
            new Label("reason", Reason.class),
            "Calls and streams that were rejected, by [reason](reasons.md).",
            "The page of the reasons has what each means and what to do. `UNAUTHENTICATED` and `PERMISSION_DENIED`:"
                    + " wrong credentials, a missing line of the policy, or an attack."),
    STORE_COMMAND(
            "palisade.store.command",
            Meter.Type.TIMER,
            "seconds",
            new Label("command", StoreCommand.class),
            "From the submission of a command to the store to its durable answer. `renew` includes keep-alives, which renew"
                    + " many leases at once.",
            "In the data directory: a slow disk, since each answer waits for fsync. In Redis: its latency, the network,"
                    + " or a failover. Above a third of the clients' lease length, leases expire."),
    STORE_BATCH(
            "palisade.store.batch",
            Meter.Type.DISTRIBUTION_SUMMARY,
            "Changes that became durable together; in the data directory, with one fsync.",
            "Larger batches are the normal effect of load or of a slow disk."),
    STORE_UP(
            "palisade.store.up",
            Meter.Type.GAUGE,
            "1 if the store can decide, 0 if not. The same truth as `/health/ready` and the gRPC health.",
            "0: no lock is granted or renewed; of a standby that is as it should be. `palisade status` has the cause."),
    STANDBY(
            "palisade.standby",
            Meter.Type.GAUGE,
            "1 if another lock server of the same log is active, 0 if not. The store of a standby is not up.",
            "1 on all servers, or 0 on all while none is up: no lock is granted. `palisade status` has the active server."),
    EPOCH_START(
            "palisade.epoch.start.timestamp",
            Meter.Type.GAUGE,
            "seconds",
            null,
            "When the newest epoch of tokens began, in seconds since 1970.",
            "A change without a restart: this server took over, or the store lost data or failed over. `palisade status` has the cause."),
    TOKEN_AHEAD(
            "palisade.token.ahead",
            Meter.Type.GAUGE,
            "seconds",
            null,
            "How far the newest token runs ahead of the clock; 0 if it does not.",
            "Tokens stay right. Above an hour: correct the clock, or find the client that acquires without pause."),
    RECOVERING(
            "palisade.recovering",
            Meter.Type.GAUGE,
            "seconds",
            null,
            "How long nothing new is granted, because holders may return with leases that the store has lost.",
            "Above 0: the store lost data. It ends by itself after `--failover-grace`."),
    UNUSABLE_FILES(
            "palisade.unusable.files",
            Meter.Type.GAUGE,
            null,
            new Label("file", CredentialFile.class),
            "1 while a file, or the URL of the keys of JWTs, cannot be used as it is now, else 0. Its last good content stays in"
                    + " use.",
            "Above 0: a change has no effect, and a restart would fail. The log has the cause: `access_file_unusable`,"
                    + " `tls_files_unusable` or `keyset_unusable`."),
    CERTIFICATE_EXPIRY(
            "palisade.certificate.expiry.timestamp",
            Meter.Type.GAUGE,
            "seconds",
            new Label("listener", Listener.class),
            "End of the certificate that the server presents, in seconds since 1970. NaN without TLS.",
            "Less than a week ahead: renew the certificate. A new file is used without a restart."),
    TLS_HANDSHAKES_FAILED(
            "palisade.tls.handshakes.failed",
            Meter.Type.COUNTER,
            null,
            new Label("listener", Listener.class),
            "TLS handshakes that failed. Clients that only connect and hang up are not in it.",
            "A rise: clients have other authorities, certificates of another issuer, or no TLS. The log has the peer and the"
                    + " cause: `tls_handshake_failed`."),
    LOG_LINES_DROPPED(
            "palisade.log.lines.dropped",
            Meter.Type.COUNTER,
            null,
            new Label("cause", LogDrop.class),
            "Lines that are missing in the log.",
            "`rate`: one event came more than 10 times a second; the log has how often. `unread`: standard error is not"
                    + " read; repair the log pipeline.");

    /** The one label of a metric; the constants of {@code values} are the label's values. */
    private record Label(String key, Class<? extends Enum<?>> values) {}

    private final String meter;
    private final Meter.Type type;
    private final @Nullable String unit;
    private final String labelKey;
    private final @Nullable Class<? extends Enum<?>> labels;
    private final String meaning;
    private final String advice;

    ServerMetric(String meter, Meter.Type type, String meaning, String advice) {
        this(meter, type, null, null, meaning, advice);
    }

    ServerMetric(
            String meter,
            Meter.Type type,
            @Nullable String unit,
            @Nullable Label label,
            String meaning,
            String advice) {
        this.meter = meter;
        this.type = type;
        this.unit = unit;
        this.labelKey = label == null ? "" : label.key();
        this.labels = label == null ? null : label.values();
        this.meaning = meaning;
        this.advice = advice;
    }

    String meter() {
        return meter;
    }

    @Nullable
    String unit() {
        return unit;
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
        return new PrometheusNamingConvention().name(meter, type, unit) + (type == Meter.Type.COUNTER ? "_total" : "");
    }

    /** The type in Prometheus. */
    public String exposedType() {
        return switch (type) {
            case COUNTER -> "counter";
            case TIMER, DISTRIBUTION_SUMMARY -> "histogram";
            default -> "gauge";
        };
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
                        .map(ServerMetric::labelValue)
                        .toList();
    }

    /** Reasons as clients see them, all others in lower case. */
    static String labelValue(Enum<?> value) {
        return value instanceof Reason ? value.name() : value.name().toLowerCase(Locale.ROOT);
    }
}
