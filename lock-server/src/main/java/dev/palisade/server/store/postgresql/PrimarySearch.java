package dev.palisade.server.store.postgresql;

import com.google.common.net.HostAndPort;
import dev.palisade.server.store.StoreUnusable;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A parallel search for the primary among several servers of PostgreSQL: a silent server must not take the time in which a claim has to
 * be kept. Thread-safe.
 */
final class PrimarySearch {
    private final PostgresLogConfig config;
    private final LogSql sql;
    private final List<String> failures = new ArrayList<>();
    /** A primary was found, or none replied as one. */
    private final CompletableFuture<Void> first = new CompletableFuture<>();

    private final CompletableFuture<Void> all = new CompletableFuture<>();
    private int unanswered;
    private boolean over;
    private @Nullable PostgresSession latest;
    private @Nullable StoreUnusable unusable;
    private @Nullable SQLException failure;

    private PrimarySearch(PostgresLogConfig config, LogSql sql, List<HostAndPort> servers) {
        this.config = config;
        this.sql = sql;
        this.unanswered = servers.size();
        for (HostAndPort server : servers) {
            Thread thread = new Thread(() -> ask(server), "palisade-postgresql-search");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /**
     * The primary on the latest timeline. Others have a part of a claim's time to reply after the first one.
     *
     * @throws SQLException if none can be reached: says why of each
     * @throws StoreUnusable if those that can be reached are standbys, or not such that a log can be kept in them
     */
    static PostgresSession find(PostgresLogConfig config, LogSql sql, List<HostAndPort> servers)
            throws SQLException, StoreUnusable {
        PrimarySearch search = new PrimarySearch(config, sql, servers);
        PostgresSession found = search.await(config.timeoutMillis());
        if (found != null) {
            return found;
        }
        search.explain(servers);
        throw new StoreUnusable(
                "PostgreSQL " + config.uri() + " is a standby; name the primary, or all servers: HOST,HOST");
    }

    /** The timeline of a primary among {@code others} that is later than that of {@code session}, as far as they reply. */
    static Optional<String> laterTimeline(
            PostgresSession session, PostgresLogConfig config, LogSql sql, List<HostAndPort> others) {
        PostgresSession found = new PrimarySearch(config, sql, others).await(patience(config));
        if (found == null) {
            return Optional.empty();
        }
        found.close();
        return found.isLaterThan(session) ? Optional.of(found.timeline()) : Optional.empty();
    }

    private static long patience(PostgresLogConfig config) {
        return Math.min(config.timeoutMillis(), config.claimMillis() / 4);
    }

    private void ask(HostAndPort server) {
        PostgresSession session = null;
        try {
            session = PostgresSession.connect(config, server, sql);
            replied(session, null, null);
        } catch (StoreUnusable e) {
            replied(null, e, null);
        } catch (SQLException e) {
            synchronized (this) {
                failures.add(server + ": " + PostgresFailure.line(e));
            }
            replied(null, null, e);
        }
    }

    private synchronized void replied(
            @Nullable PostgresSession session, @Nullable StoreUnusable refused, @Nullable SQLException failed) {
        unanswered--;
        unusable = refused == null ? unusable : refused;
        failure = failed == null ? failure : failed;
        PostgresSession worse = session;
        if (session != null && !over && (latest == null || session.isLaterThan(latest))) {
            worse = latest;
            latest = session;
        }
        if (worse != null) {
            worse.close();
        }
        if (session != null || unanswered == 0) {
            first.complete(null);
        }
        if (unanswered == 0) {
            all.complete(null);
        }
    }

    /** Null if none is found. */
    private @Nullable PostgresSession await(long millis) {
        await(first, millis);
        if (first.isDone()) {
            await(all, Math.min(millis, patience(config)));
        }
        synchronized (this) {
            over = true;
            return latest;
        }
    }

    private static void await(CompletableFuture<Void> reply, long millis) {
        try {
            reply.get(millis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // A server without a reply is left out.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void explain(List<HostAndPort> servers) throws SQLException, StoreUnusable {
        if (unusable != null) {
            throw unusable;
        }
        SQLException one = failure;
        if (servers.size() == 1 && one != null) {
            throw one;
        }
        if (unanswered > 0) {
            failures.add(
                    "no reply within " + config.timeoutMillis() + " ms from " + unanswered + " of " + servers.size());
        }
        if (!failures.isEmpty()) {
            throw new SQLException("no primary can be reached: " + String.join("; ", failures), one);
        }
    }
}
