package dev.palisade.server.store.postgresql;

import com.google.common.net.HostAndPort;
import dev.palisade.contract.EventLog;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.AppendFailure;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimDecision;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.LogRules;
import dev.palisade.server.ownership.LogState;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.BatchSpan;
import dev.palisade.server.store.log.BatchStorage;
import dev.palisade.server.store.log.BatchedLog;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LastStatus;
import dev.palisade.server.store.log.LogFailure;
import dev.palisade.server.store.log.OwnerKey;
import dev.palisade.server.store.log.SigningKeys;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLWarning;
import org.postgresql.util.ServerErrorMessage;

/**
 * Storage of the batches of a shared log in PostgreSQL. An append is one statement, which stores a batch only for the log's owner. A claim
 * reads the log's row, decides by {@link LogRules}, and writes only if the row has not changed meanwhile. Statements run one after
 * the other on a thread of the log's own. After one without a reply, the next claim connects anew.
 */
public final class PostgresLog implements BatchStorage {
    /** A row that changes while a claim is decided is read again so often. */
    private static final int CLAIM_TRIES = 3;
    /** A standby that asks no more is forgotten after so long. */
    private static final long STANDBY_MILLIS = 3_000;

    /** C function whose warnings report a commit that may not be replicated; their texts are localized. */
    private static final String OF_REPLICATION = "SyncRepWaitForLSN";

    private static final long CLOSING_MAX_MILLIS = 1_000;

    private final PostgresLogConfig config;
    private final LogSql sql;
    private final EventLog events;
    private final LogRules rules;
    private final ExecutorService thread =
            Executors.newSingleThreadExecutor(task -> new Thread(task, "palisade-postgresql"));
    /** Null when a statement had no reply. Touched on the thread only. */
    private @Nullable PostgresSession session;
    /** The latest one that was seen: a server on an earlier one was replaced. Touched on the thread only. */
    private String latestTimeline = "";
    /** Whether the next claim connects anew. Touched on the thread only. */
    private boolean replaced;

    /** When this server's standby row was last written, in PostgreSQL's time. Touched on the thread only. */
    private long standbyWrittenMillis;

    private final LastStatus status = new LastStatus();

    private PostgresLog(PostgresLogConfig config, LogSql sql, EventLog events) {
        this.config = config;
        this.sql = sql;
        this.events = events;
        this.rules = new LogRules(config.claimMillis(), config.settleMillis());
    }

    /**
     * Connects. Blocks meanwhile.
     *
     * @param keys with which this server signs
     * @param random of good quality: owners are compared by what it draws
     * @throws StoreUnusable if PostgreSQL cannot be reached, may not be used, or has tables that are not this log's; or by {@code keys}
     */
    public static FencedLog open(PostgresLogConfig config, SigningKeys keys, RandomGenerator random, EventLog events)
            throws StoreUnusable {
        return open(config, keys, LogSql.OF_POSTGRESQL, random, events);
    }

    static FencedLog open(
            PostgresLogConfig config, SigningKeys keys, LogSql sql, RandomGenerator random, EventLog events)
            throws StoreUnusable {
        PostgresLog log = new PostgresLog(config, sql, events);
        boolean opened = false;
        try {
            Optional<OwnerKey> owner = log.await(() -> log.read(log.connected()).owner());
            if (owner.isPresent()) {
                keys.check(owner.get());
            }
            opened = true;
            return new BatchedLog(
                    log,
                    new BatchedLog.Candidate(
                            config.address(),
                            BatchedLog.appliesInit(config.init(), owner.isPresent(), events),
                            config.recoveryMillis(),
                            config.settings(),
                            keys),
                    random,
                    events);
        } catch (LogFailure e) {
            throw new StoreUnusable(e.line(), e);
        } finally {
            if (!opened) {
                log.close();
            }
        }
    }

    @Override
    public String kind() {
        return "postgresql";
    }

    @Override
    public String name() {
        return "PostgreSQL " + config.uri();
    }

    @Override
    public String path() {
        return "log " + config.log();
    }

    @Override
    public String pathOf(long generation, long number) {
        return "row " + number + " of generation " + generation + " in palisade_log_batch";
    }

    // ---- claims

    @Override
    public Claim claim(ClaimRequest request, String keyId, String settings) throws StoreUnusable, LogFailure {
        return await(() -> {
            PostgresSession now = connected();
            for (int i = 0; i < CLAIM_TRIES; i++) {
                Claim claim = decide(now, request, keyId, settings);
                if (claim != null) {
                    return claim;
                }
            }
            throw LogFailure.refused(name() + " has a log that changes while it is claimed");
        });
    }

    /** Null if the row has changed meanwhile. */
    private @Nullable Claim decide(PostgresSession now, ClaimRequest request, String keyId, String settings)
            throws SQLException, StoreUnusable {
        LogRow row = read(now);
        BatchSpan batches = row.batches();
        ClaimDecision decision = rules.claim(row.state(true), request, row.nowMillis());
        if (decision.reply() instanceof ClaimReply.Claimed) {
            BatchSpan found = find(now, row.generation());
            if (row.head() == null) {
                batches = found;
            } else if (found.count() < batches.count()) {
                decision = rules.claim(row.state(false), request, row.nowMillis());
            }
        }
        boolean written = write(now, row, decision, batches, keyId, settings);
        if (!(decision.reply() instanceof ClaimReply.Claimed)) {
            standBy(now, request, row.nowMillis());
            return written ? Claim.refused(decision.reply(), row.keyId(), row.settings()) : null;
        }
        if (!written) {
            return null;
        }
        LogState.Head head = headOf(decision);
        return new Claim(
                decision.reply(),
                batches,
                head.generation(),
                head.rewriting(),
                "",
                "",
                takeover(row, decision.reply()));
    }

    private static LogState.Head headOf(ClaimDecision decision) {
        LogState.Head head = decision.next().head();
        if (head == null) {
            throw new IllegalStateException("a log that was granted has a head");
        }
        return head;
    }

    private boolean write(
            PostgresSession now, LogRow row, ClaimDecision decision, BatchSpan batches, String keyId, String settings)
            throws SQLException, StoreUnusable {
        if (decision.reply() instanceof ClaimReply.Held) {
            long until = headOf(decision).untilMillis();
            LogState.Head before = row.head();
            return (before != null && before.untilMillis() == until)
                    || run(now, LogSql.SHORTEN, until, config.log(), row.version(), row.rowVersion()) == 1;
        }
        if (decision.reply() instanceof ClaimReply.Claimed) {
            return grant(now, row, decision, batches, keyId, settings);
        }
        LogState.Settling settling = decision.next().settling();
        if (settling == null || settling.equals(row.settling())) {
            return true;
        }
        return run(
                        now,
                        LogSql.SETTLE,
                        settling.at().writer().toString(),
                        settling.at().seq(),
                        settling.sinceMillis(),
                        settling.term(),
                        row.presentInstance(),
                        config.log(),
                        row.version(),
                        row.rowVersion())
                == 1;
    }

    private boolean grant(
            PostgresSession now, LogRow row, ClaimDecision decision, BatchSpan batches, String keyId, String settings)
            throws SQLException {
        LogState.Head head = headOf(decision);
        StoreStatus.Takeover takeover = takeover(row, decision.reply());
        try (PreparedStatement grants = bind(
                now,
                LogSql.GRANT,
                head.writer().toString(),
                head.base().writer().toString(),
                head.base().seq(),
                head.whole(),
                head.term(),
                head.server(),
                head.address(),
                keyId,
                settings,
                head.untilMillis(),
                row.presentInstance(),
                head.generation(),
                head.rewriting(),
                head.recoveringUntilMillis(),
                batches.first(),
                batches.next(),
                batches.count(),
                takeover.atMillis(),
                takeover.why(),
                takeover.fromAddress(),
                config.log(),
                row.version(),
                row.rowVersion())) {
            return isOne(grants);
        }
    }

    private static StoreStatus.Takeover takeover(LogRow before, ClaimReply reply) {
        ClaimReply.Claimed claimed = (ClaimReply.Claimed) reply;
        LogState.Head head = before.head();
        return head != null && claimed.mine()
                ? before.takeover()
                : new StoreStatus.Takeover(
                        before.nowMillis(), cause(before, claimed), head == null ? "" : head.address());
    }

    /** What a takeover came of, in one word. */
    private static String cause(LogRow row, ClaimReply.Claimed claimed) {
        LogState.Head before = row.head();
        if (!claimed.whole()) {
            return "DATA_LOST";
        } else if (before == null) {
            return "STARTED";
        } else if (row.yielded()) {
            return "STOPPED";
        }
        return before.untilMillis() <= row.nowMillis() ? "CLAIM_RAN_OUT" : "RESTARTED";
    }

    /** The log's row, which is made if there is none. */
    private LogRow read(PostgresSession now) throws SQLException, StoreUnusable {
        LogRow row = readRow(now);
        if (row == null) {
            run(now, LogSql.INSERT_EMPTY, config.log());
            row = readRow(now);
        }
        if (row == null) {
            throw new SQLException("the row of log " + config.log() + " is gone again");
        }
        if (row.format() != LogSql.FORMAT) {
            throw new StoreUnusable(name() + " has log " + config.log() + " of another release (format " + row.format()
                    + ", not " + LogSql.FORMAT + "); use that release, or another --store-prefix");
        }
        return row;
    }

    private @Nullable LogRow readRow(PostgresSession now) throws SQLException {
        try (PreparedStatement asks = bind(now, sql.readHead, config.log());
                ResultSet rows = asks.executeQuery()) {
            return rows.next() ? LogRow.of(rows) : null;
        }
    }

    private BatchSpan find(PostgresSession now, long generation) throws SQLException {
        try (PreparedStatement asks = bind(now, LogSql.COUNT_BATCHES, config.log(), generation);
                ResultSet row = asks.executeQuery()) {
            row.next();
            return new BatchSpan(row.getLong(2), row.getLong(3), row.getLong(1));
        }
    }

    /** Writes the standby row, which only the status needs: at most once a second, and a failure does not fail the claim. */
    private void standBy(PostgresSession now, ClaimRequest request, long nowMillis) {
        if (nowMillis >= standbyWrittenMillis && nowMillis - standbyWrittenMillis < STANDBY_MILLIS / 3) {
            return;
        }
        standbyWrittenMillis = nowMillis;
        try {
            run(
                    now,
                    sql.standBy,
                    config.log(),
                    request.server(),
                    STANDBY_MILLIS,
                    config.log(),
                    request.server(),
                    request.address());
        } catch (SQLException e) {
            // The next statement says so, if it is the connection.
        }
    }

    /**
     * A takeover begins an epoch of tokens: at a server that another one has replaced these would be above the tokens of its successor.
     * Also says so when a failover can bring back what was before this claim.
     */
    @Override
    public Optional<String> doubt(ClaimReply.Claimed claimed, boolean isFirst) throws LogFailure {
        if (claimed.mine()) {
            return Optional.empty();
        }
        try {
            return await(() -> {
                PostgresSession now = owned();
                warnOfReplicas(now);
                List<HostAndPort> others = new ArrayList<>(config.uri().servers());
                others.remove(now.server());
                Optional<String> later =
                        others.isEmpty() ? Optional.empty() : PrimarySearch.laterTimeline(now, config, sql, others);
                if (later.isEmpty()) {
                    return Optional.<String>empty();
                }
                replaced = true;
                latestTimeline = later.get(); // This one stays refused also while the later one does not reply.
                return Optional.of("is not the primary any more: another server is on a later timeline");
            });
        } catch (StoreUnusable e) {
            throw LogFailure.unknown(String.valueOf(e.getMessage()));
        }
    }

    private void warnOfReplicas(PostgresSession now) throws SQLException {
        try (PreparedStatement asks = bind(now, LogSql.REPLICAS);
                ResultSet row = asks.executeQuery()) {
            row.next();
            if (row.getInt(1) > 0 && row.getString(2).isEmpty()) {
                events.tell(
                        "store_warning",
                        "message",
                        name()
                                + " has replicas, and commits wait for none of them: a failover can bring back an earlier"
                                + " state of the locks; set synchronous_standby_names");
            }
        }
    }

    // ---- batches

    @Override
    public Optional<Contents> look() throws StoreUnusable, LogFailure {
        return await(() -> {
            LogRow row = readRow(owned());
            LogState.Head head = row == null ? null : row.head();
            return row == null || head == null
                    ? Optional.empty()
                    : Optional.of(new Contents(head.generation(), row.batches(), head.position()));
        });
    }

    @Override
    public List<byte @Nullable []> read(long generation, long first, long end) throws StoreUnusable, LogFailure {
        return await(() -> {
            byte @Nullable [][] batches = new byte[(int) (end - first)][];
            try (PreparedStatement asks = bind(owned(), LogSql.READ_BATCHES, config.log(), generation, first, end);
                    ResultSet rows = asks.executeQuery()) {
                while (rows.next()) {
                    batches[(int) (rows.getLong(1) - first)] = rows.getBytes(2);
                }
            }
            return Arrays.asList(batches);
        });
    }

    @Override
    public void append(Append append, byte[] bytes, FencedLog.Sent sent) {
        try {
            thread.execute(() -> sent.replied(store(append, bytes)));
        } catch (RejectedExecutionException e) {
            sent.replied(LogFailure.unknown("the connection to " + name() + " is closed"));
        }
    }

    private @Nullable LogFailure store(Append append, byte[] bytes) {
        PostgresSession now = session;
        if (now == null) {
            return LogFailure.unknown("the connection to " + name() + " broke");
        }
        AppendRequest request = append.request();
        try (PreparedStatement stores = bind(
                now,
                sql.append,
                config.log(),
                request.writer().toString(),
                request.seq(),
                request.tokensBefore(),
                request.tokensAfter(),
                request.yields() ? 0 : config.claimMillis(),
                request.yields(),
                request.switches(),
                append.generation(),
                append.before().next(),
                bytes,
                append.before().first(),
                append.after().first(),
                append.after().next(),
                append.after().count(),
                append.keyId())) {
            if (isOne(stores)) {
                return null;
            }
            return LogFailure.unknown(name() + " did not store a batch: the log is not where this server left it");
        } catch (SQLException e) {
            return failure(e);
        }
    }

    // ---- for people

    /** The last reply; each call asks PostgreSQL again. */
    @Override
    public Optional<StoreStatus.SharedLog> status() {
        return status.look(() -> CompletableFuture.supplyAsync(this::askStatus, thread));
    }

    private Optional<StoreStatus.SharedLog> askStatus() {
        PostgresSession now = session;
        if (now == null) {
            return Optional.empty();
        }
        try {
            LogRow row = readRow(now);
            LogState.Head head = row == null ? null : row.head();
            if (row == null || head == null) {
                return Optional.empty();
            }
            return Optional.of(new StoreStatus.SharedLog(
                    row.nowMillis(),
                    head.address(),
                    head.writer().toString(),
                    head.seq(),
                    head.term(),
                    config.claimMillis(),
                    Math.max(0, head.untilMillis() - row.nowMillis()),
                    row.takeover(),
                    readStandbys(now, head.server())));
        } catch (SQLException e) {
            failure(e);
            return Optional.empty();
        }
    }

    private List<StoreStatus.Standby> readStandbys(PostgresSession now, String active) {
        List<StoreStatus.Standby> standbys = new ArrayList<>();
        try (PreparedStatement asks = bind(now, sql.readStandbys, config.log(), active, STANDBY_MILLIS);
                ResultSet rows = asks.executeQuery()) {
            while (rows.next()) {
                standbys.add(new StoreStatus.Standby(rows.getString(1), rows.getLong(2), rows.getLong(3)));
            }
        } catch (SQLException e) {
            standbys.clear(); // The status has the head nevertheless.
        }
        return standbys;
    }

    // ---- the connection

    private interface Asked<T> {
        T run() throws SQLException, StoreUnusable, LogFailure;
    }

    /** Runs it on the thread. The network's timeout lets no statement wait for ever. */
    private <T> T await(Asked<T> asked) throws StoreUnusable, LogFailure {
        try {
            return thread.submit(() -> {
                        try {
                            return asked.run();
                        } catch (SQLException e) {
                            if (PostgresFailure.isUnusable(e)) {
                                disconnect(); // Tables that are gone are made by the next connection.
                                throw new StoreUnusable(name() + " has tables that are not those of a log ("
                                        + PostgresFailure.line(e) + "); use another database or schema");
                            }
                            throw failure(e);
                        }
                    })
                    .get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof StoreUnusable unusable) {
                throw unusable;
            }
            if (e.getCause() instanceof LogFailure failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } catch (RejectedExecutionException e) {
            throw LogFailure.unknown("the connection to " + name() + " is closed");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw LogFailure.unknown("interrupted while " + name() + " was asked");
        }
    }

    private PostgresSession connected() throws SQLException, StoreUnusable {
        if (replaced) {
            disconnect();
        }
        PostgresSession now = session;
        if (now == null) {
            now = PostgresSession.open(config, sql, events);
            if (now.timeline().compareTo(latestTimeline) < 0) {
                now.close();
                throw new SQLException(now.server() + " is on an earlier timeline than a server that was seen before:"
                        + " it is not the primary any more");
            }
            latestTimeline = now.timeline();
            session = now;
            events.tell("store_linked", "address", now.server(), "version", now.version(), "instance", now.instance());
        }
        return now;
    }

    /** The connection of the last claim: what another server has is another log. */
    private PostgresSession owned() throws LogFailure {
        PostgresSession now = session;
        if (now == null) {
            throw LogFailure.unknown("the connection to " + name() + " broke");
        }
        return now;
    }

    /** Leaves the connection unless PostgreSQL said that nothing was changed. */
    private LogFailure failure(SQLException e) {
        PostgresSession now = session;
        LogFailure failure = PostgresFailure.of(name(), e, now != null && now.isAlive());
        if (now != null && failure.kind() == AppendFailure.UNKNOWN) {
            events.warn("store_lost", "message", failure.line());
            disconnect();
        }
        return failure;
    }

    private void disconnect() {
        PostgresSession now = session;
        if (now != null) {
            now.close();
        }
        session = null;
        replaced = false;
    }

    private int run(PostgresSession now, String statement, Object... values) throws SQLException {
        try (PreparedStatement runs = bind(now, statement, values)) {
            int changed = runs.executeUpdate();
            refuseWarning(runs);
            return changed;
        }
    }

    /** Whether the statement, which returns a number, has found what it looked for. */
    private static boolean isOne(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            boolean found = row.next() && row.getLong(1) == 1;
            refuseWarning(statement);
            return found;
        }
    }

    /** A commit that did not wait for its replicas is reported by a warning only. */
    private static void refuseWarning(PreparedStatement statement) throws SQLException {
        for (SQLWarning each = statement.getWarnings(); each != null; each = each.getNextWarning()) {
            ServerErrorMessage server = each instanceof PSQLWarning warning ? warning.getServerErrorMessage() : null;
            if (server != null && OF_REPLICATION.equals(server.getRoutine())) {
                throw new SQLException(each.getMessage());
            }
        }
    }

    private static PreparedStatement bind(PostgresSession now, String statement, Object... values) throws SQLException {
        PreparedStatement bound = now.prepare(statement);
        for (int i = 0; i < values.length; i++) {
            bound.setObject(i + 1, values[i]);
        }
        return bound;
    }

    @Override
    public void close() {
        if (thread.isShutdown()) {
            return;
        }
        thread.execute(this::disconnect);
        thread.shutdown();
        try {
            if (!thread.awaitTermination(CLOSING_MAX_MILLIS, TimeUnit.MILLISECONDS)) {
                thread.shutdownNow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
