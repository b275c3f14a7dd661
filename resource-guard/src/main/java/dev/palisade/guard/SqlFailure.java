package dev.palisade.guard;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.util.Map;
import java.util.Set;

/**
 * What an {@link SQLException} says about its transaction. Reads MySQL's error codes, and SQL states of all others; never retries
 * anything itself.
 */
enum SqlFailure {
    /** Rolled back as a whole by the database (serialization failure, deadlock): not applied, worth another run. */
    ROLLED_BACK,
    /** Waited as long as it may for a row lock: not applied. */
    LOCK_TIMEOUT,
    /** Another transaction wrote the same key, or a constraint is violated: not applied. */
    CONSTRAINT,
    /** The transaction, or the whole database, takes no writes: not applied, and another run changes nothing. */
    READ_ONLY,
    /** The database is gone. Not applied, unless it happened in a commit. */
    UNREACHABLE,
    /** Anything else. Not applied, unless it happened in a commit. */
    OTHER;

    /** 40003 (statement completion unknown) is left out on purpose. */
    private static final Set<String> ROLLED_BACK_STATES = Set.of("40000", "40001", "40002", "40P01", "90131");

    /** 57014: the statement was cut short, by the bound on all its waits together. */
    private static final Set<String> LOCK_TIMEOUT_STATES = Set.of("55P03", "HYT00", "57014");

    /** PostgreSQL going down or full; H2 closed, its file locked or its session broken. */
    private static final Set<String> UNREACHABLE_STATES =
            Set.of("57P01", "57P02", "57P03", "53300", "90007", "90020", "90028", "90067", "90098", "90121");

    /** PostgreSQL's read-only transaction, on a standby too; H2's read-only database. */
    private static final Set<String> READ_ONLY_STATES = Set.of("25006", "90097");

    /**
     * MySQL's and MariaDB's error codes, which no other known database uses. Their states say too little, and differ by driver:
     * for 1205 one says 40001, though the transaction is still open.
     */
    private static final Map<Integer, SqlFailure> MYSQL_CODES = Map.ofEntries(
            // Deadlock; MariaDB: changed since the snapshot; group replication: rolled back in the commit.
            Map.entry(1213, ROLLED_BACK),
            Map.entry(1020, ROLLED_BACK),
            Map.entry(3101, ROLLED_BACK),
            // A wait for a lock; a statement that was cut short, by our bound or by an operator.
            Map.entry(1205, LOCK_TIMEOUT),
            Map.entry(1969, LOCK_TIMEOUT),
            Map.entry(3024, LOCK_TIMEOUT),
            Map.entry(1317, LOCK_TIMEOUT),
            // read_only, innodb_read_only.
            Map.entry(1290, READ_ONLY),
            Map.entry(1836, READ_ONLY),
            // Too many connections, of all or of one account; going down; the connection was killed or was idle too
            // long.
            Map.entry(1040, UNREACHABLE),
            Map.entry(1203, UNREACHABLE),
            Map.entry(1226, UNREACHABLE),
            Map.entry(1053, UNREACHABLE),
            Map.entry(3168, UNREACHABLE),
            Map.entry(1927, UNREACHABLE),
            Map.entry(4031, UNREACHABLE));

    static SqlFailure of(SQLException failure) {
        SqlFailure known = MYSQL_CODES.get(failure.getErrorCode());
        if (known != null) {
            return known;
        }
        String state = failure.getSQLState();
        if (state == null) {
            state = "";
        }
        if (ROLLED_BACK_STATES.contains(state)) {
            return ROLLED_BACK;
        }
        if (LOCK_TIMEOUT_STATES.contains(state)) {
            return LOCK_TIMEOUT;
        }
        if (READ_ONLY_STATES.contains(state)) {
            return READ_ONLY;
        }
        if (state.startsWith("23")) {
            return CONSTRAINT;
        }
        boolean unreachable = state.startsWith("08")
                || UNREACHABLE_STATES.contains(state)
                || failure instanceof SQLTransientConnectionException
                || failure instanceof SQLNonTransientConnectionException;
        return unreachable ? UNREACHABLE : OTHER;
    }

    /** Whether a commit that failed like this certainly changed nothing. */
    static boolean commitWasRefused(SQLException failure) {
        SqlFailure what = of(failure);
        // 25P02: PostgreSQL answered ROLLBACK, because a statement had failed before.
        return what == ROLLED_BACK || what == CONSTRAINT || "25P02".equals(failure.getSQLState());
    }
}
