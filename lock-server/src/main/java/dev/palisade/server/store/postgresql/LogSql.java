package dev.palisade.server.store.postgresql;

/**
 * The SQL statements of a log. Each is a transaction of its own: one that a paused lock server holds open would block the next owner.
 * Comparison and write are one statement, so that no other transaction runs between them. Immutable.
 */
final class LogSql {
    static final int FORMAT = 1;

    static final LogSql OF_POSTGRESQL = new LogSql(
            "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            "(substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) || '.' || "
                    + "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint)");

    /** Version, process and identity of a server, before it is used. */
    final String checkServer;
    /** The head, the time and the process, and whether the row was last written by one of these statements. */
    final String readHead;
    /** Standbys of a log, for the status. */
    final String readStandbys;
    /** Upsert of a standby, which also deletes expired ones. */
    final String standBy;
    /** Stores a batch if its writer owns the log, and both the log and the process are where the writer left them. */
    final String append;

    /**
     * @param clock the time of every decision: PostgreSQL's own, in milliseconds since 1970
     * @param instance identity of the running PostgreSQL and of its history: the timeline changes with a promotion, the time of the
     *     start with a restart or a restore
     */
    LogSql(String clock, String instance) {
        checkServer = """
            SELECT current_setting('server_version_num')::int, pg_backend_pid(),
              CASE WHEN pg_is_in_recovery() THEN '' ELSE %s END""".formatted(instance);
        readHead = """
            SELECT *, written_by::text AS version, xmin::text AS row_version, written_by::xid = xmin AS untouched,
              %s AS now, %s AS present_instance
            FROM palisade_log WHERE log = ?""".formatted(clock, instance);
        readStandbys =
                ("SELECT address, since, seen FROM palisade_log_standby WHERE log = ? AND server <> ? AND seen > %s - ?"
                                + " ORDER BY address, since")
                        .formatted(clock);
        standBy = """
            WITH gone AS (DELETE FROM palisade_log_standby WHERE log = ? AND server <> ? AND seen <= %s - ?)
            INSERT INTO palisade_log_standby (log, server, address, since, seen) SELECT ?, ?, ?, now, now FROM (SELECT %s AS now) clock
            ON CONFLICT (log, server) DO UPDATE SET seen = EXCLUDED.seen""".formatted(clock, clock);
        append = """
            WITH batch (log, writer, seq, tokens_before, tokens_after, ends, yields, switches, generation, number, body,
              first_before, first_after, next_after, count_after, key_id) AS (VALUES (?, ?, ?::bigint, ?::bigint, ?::bigint, ?::bigint, ?::boolean,
                ?::boolean, ?::bigint, ?::bigint, ?::bytea, ?::bigint, ?::bigint, ?::bigint, ?::bigint, ?::text)),
            head AS (
              UPDATE palisade_log l SET written_by = pg_current_xact_id(), seq = b.seq, tokens = b.tokens_after,
                claimed_until = %s + b.ends, yielded = b.yields, key_id = b.key_id,
                first_batch = CASE WHEN l.rewriting = 0 OR b.switches THEN b.first_after ELSE l.first_batch END,
                next_batch = CASE WHEN l.rewriting = 0 OR b.switches THEN b.next_after ELSE l.next_batch END,
                batches = CASE WHEN (l.rewriting = 0 OR b.switches) AND b.count_after >= 0 THEN b.count_after ELSE l.batches END,
                generation = CASE WHEN b.switches THEN l.rewriting ELSE l.generation END,
                rewriting = CASE WHEN b.switches THEN 0 ELSE l.rewriting END
              FROM batch b
              WHERE l.log = b.log AND l.writer = b.writer AND l.seq = b.seq - 1 AND l.tokens = b.tokens_before
                AND l.instance = %s AND l.written_by::xid = l.xmin AND (l.rewriting <> 0 OR NOT b.switches)
              RETURNING b.*),
            stored AS (
              INSERT INTO palisade_log_batch (log, generation, number, body)
              SELECT log, generation, number, body FROM head WHERE length(body) > 0
              ON CONFLICT (log, generation, number) DO UPDATE SET body = EXCLUDED.body),
            dropped AS (
              DELETE FROM palisade_log_batch b USING head h
              WHERE b.log = h.log AND b.generation = h.generation AND b.number >= h.first_before AND b.number < h.first_after),
            replaced AS (
              DELETE FROM palisade_log_batch b USING head h WHERE h.switches AND b.log = h.log AND b.generation <> h.generation)
            SELECT count(*) FROM head""".formatted(clock, instance);
    }

    static final String SURVIVES_CRASH =
            "SELECT current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'";

    static final String HAS_TABLES = """
            SELECT to_regclass('palisade_log') IS NOT NULL AND to_regclass('palisade_log_batch') IS NOT NULL
              AND to_regclass('palisade_log_standby') IS NOT NULL""";

    /** Whether the table is that of an earlier release. */
    static final String LACKS_COLUMNS = """
            SELECT count(*) FILTER (WHERE attname = 'written_by') = 1 AND count(*) FILTER (WHERE attname IN ('key_id', 'settings')) < 2
            FROM pg_attribute WHERE attrelid = to_regclass('palisade_log') AND NOT attisdropped""";

    static final String ADD_COLUMNS =
            "ALTER TABLE palisade_log ADD COLUMN IF NOT EXISTS key_id text NOT NULL DEFAULT '',"
                    + " ADD COLUMN IF NOT EXISTS settings text NOT NULL DEFAULT ''";

    /**
     * Settings of this connection: those of a role or a database could weaken a commit, or block for too long. Generic plans, because
     * planning each append takes longer than the append.
     */
    static final String SET_UP_SESSION = """
            SELECT set_config(name, value, false) FROM (VALUES
              ('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on'
                ELSE current_setting('synchronous_commit') END),
              ('default_transaction_isolation', 'read committed'), ('default_transaction_read_only', 'off'),
              ('statement_timeout', '0'), ('lock_timeout', ?), ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off')) settings(name, value)""";

    static final String RIGHTS = """
            SELECT string_agg(needed || ' on ' || tab, ', ') FROM (VALUES
              ('palisade_log', 'SELECT'), ('palisade_log', 'INSERT'), ('palisade_log', 'UPDATE'),
              ('palisade_log_batch', 'SELECT'), ('palisade_log_batch', 'INSERT'), ('palisade_log_batch', 'UPDATE'),
              ('palisade_log_batch', 'DELETE'), ('palisade_log_standby', 'SELECT'), ('palisade_log_standby', 'INSERT'),
              ('palisade_log_standby', 'UPDATE'), ('palisade_log_standby', 'DELETE')) rights(tab, needed)
            WHERE NOT has_table_privilege(tab, needed)""";

    static final String INSERT_EMPTY =
            "INSERT INTO palisade_log (log, format) VALUES (?, " + FORMAT + ") ON CONFLICT DO NOTHING";

    static final String COUNT_BATCHES = """
            SELECT count(*), coalesce(min(number), 1), coalesce(max(number), 0) + 1
            FROM palisade_log_batch WHERE log = ? AND generation = ?""";

    static final String READ_BATCHES =
            "SELECT number, body FROM palisade_log_batch WHERE log = ? AND generation = ? AND number >= ? AND number < ?";

    static final String REPLICAS =
            "SELECT count(*), current_setting('synchronous_standby_names') FROM pg_stat_replication";

    private static final String UNCHANGED = " WHERE log = ? AND written_by = ?::xid8 AND xmin = ?::xid";

    /** Keeps a restored row recognizable: it is not what this PostgreSQL stored last. */
    private static final String REWRITTEN = "written_by = pg_current_xact_id(), "
            + "instance = CASE WHEN written_by::xid = xmin THEN instance ELSE '' END, ";

    static final String SHORTEN = "UPDATE palisade_log SET " + REWRITTEN + "claimed_until = ?" + UNCHANGED;

    static final String SETTLE = "UPDATE palisade_log SET " + REWRITTEN
            + "settling_writer = ?, settling_seq = ?, settling_since = ?, settling_term = ?, settling_instance = ?"
            + UNCHANGED;

    /** Grant of the log, unless the row has changed since it was read. Deletes the batches of other generations. */
    static final String GRANT = """
            WITH head AS (
              UPDATE palisade_log SET written_by = pg_current_xact_id(), writer = ?, seq = 0, base_writer = ?, base_seq = ?, whole = ?,
                term = ?, server = ?, address = ?, key_id = ?, settings = ?, claimed_until = ?, yielded = false, instance = ?, generation = ?, rewriting = ?,
                recovering_until = ?, first_batch = ?, next_batch = ?, batches = ?, settling_writer = NULL,
                taken_at = ?, taken_why = ?, taken_from = ?""" + UNCHANGED + """
             RETURNING log, generation),
            dropped AS (DELETE FROM palisade_log_batch b USING head WHERE b.log = head.log AND b.generation <> head.generation)
            SELECT count(*) FROM head""";
}
