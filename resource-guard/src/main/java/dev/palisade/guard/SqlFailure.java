package dev.palisade.guard;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.util.Set;

/** What an {@link SQLException} says about its transaction. Reads SQL states only; never retries anything itself. */
enum SqlFailure {
    /** Rolled back as a whole by the database (serialization failure, deadlock): not applied, worth another run. */
    ROLLED_BACK,
    /** Waited as long as it may for a row lock: not applied. */
    LOCK_TIMEOUT,
    /** Somebody else wrote the same key, or a constraint is violated: not applied. */
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

    static SqlFailure of(SQLException failure) {
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
