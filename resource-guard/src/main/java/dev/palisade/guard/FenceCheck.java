package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;

/**
 * The check at the start of a guarded transaction: compares the token with the mark, raises it, and bounds the wait for the
 * row. Runs on the given connection only, never commits, never rolls back. Immutable.
 */
final class FenceCheck {
    /** A first writer of a resource can find no row, lose the insert to another, and then find the row raised. */
    private static final int TRIES_MAX = 3;

    private final SqlDialect dialect;
    private final FenceTable table;
    private final Duration lockWait;

    FenceCheck(SqlDialect dialect, FenceTable table, Duration lockWait) {
        this.dialect = dialect;
        this.table = table;
        this.lockWait = lockWait;
    }

    /**
     * @param joined whether the caller began the transaction, and may have read in it
     * @return the number of the row, for {@link Fence}
     * @throws dev.palisade.contract.RejectedException TOKEN_STALE, DRAINING, MARK_UNAVAILABLE, STORE_UNAVAILABLE
     * @throws SQLException of {@link SqlFailure#ROLLED_BACK} kind: the transaction must run again
     * @throws IllegalStateException when the transaction is read-only
     */
    long admit(Connection connection, Sequencer sequencer, Binding binding, Access access, boolean joined)
            throws SQLException {
        String resource = binding.resource();
        try {
            if (connection.isReadOnly()) {
                throw FenceRejections.readOnly(resource, null);
            }
            String before = dialect.boundLockWait(connection, lockWait);
            long number;
            try {
                table.queue(connection, resource, sequencer);
                boolean locksFirst = dialect.locksBeforeItCompares();
                if (joined && locksFirst && !table.isCurrent(connection, resource, sequencer)) {
                    throw FenceRejections.moved(resource);
                }
                number = raise(connection, sequencer, resource, access, locksFirst && !joined);
                // Last: before the row is locked it could take a snapshot.
                dialect.requireTable(connection);
            } catch (SQLException | RuntimeException e) {
                restoreQuietly(connection, before);
                throw e;
            }
            dialect.restoreLockWait(connection, before);
            return number;
        } catch (SQLException e) {
            switch (SqlFailure.of(e)) {
                case ROLLED_BACK -> throw e;
                case UNREACHABLE -> throw FenceRejections.unavailable(resource, e);
                case LOCK_TIMEOUT -> throw FenceRejections.draining(resource, lockWait, e);
                case READ_ONLY -> throw FenceRejections.readOnly(resource, e);
                case CONSTRAINT, OTHER -> throw FenceRejections.markUnavailable(resource, e);
            }
            throw e;
        }
    }

    /**
     * The first use inserts the row raised, in the caller's transaction: other first users wait until that one ends.
     *
     * @param looksFirst whether to read the row before anything locks it: a stale call would wait only to be refused, and readers
     *     that all have a shared lock could not raise
     */
    private long raise(Connection connection, Sequencer sequencer, String resource, Access access, boolean looksFirst)
            throws SQLException {
        for (int tries = 0; tries < TRIES_MAX; tries++) {
            boolean mayStand = true;
            if (looksFirst) {
                FenceTable.Row seen = table.read(connection, resource);
                if (seen != null) {
                    throwIfRefused(seen, sequencer, resource, access);
                }
                mayStand = seen != null
                        && seen.mark().sharedToken() >= sequencer.token().value();
            }
            long number = table.raise(connection, resource, sequencer, mayStand);
            if (number != FenceTable.REFUSED) {
                return number;
            }
            FenceTable.Row row = table.read(connection, resource);
            if (row == null) {
                number = table.insert(connection, resource, sequencer);
                if (number != FenceTable.REFUSED) {
                    return number;
                }
            } else {
                throwIfRefused(row, sequencer, resource, access);
            }
        }
        throw FenceRejections.moved(resource);
    }

    private static void throwIfRefused(FenceTable.Row row, Sequencer sequencer, String resource, Access access) {
        Optional<Rejection> refusal =
                row.mark().refusal(resource, sequencer, access, row.exclusiveAtMillis(), row.sharedAtMillis());
        if (refusal.isPresent()) {
            throw refusal.get().asException();
        }
    }

    private void restoreQuietly(Connection connection, String before) {
        try {
            if (!dialect.rollbackRestoresLockWait()) {
                dialect.restoreLockWait(connection, before);
            }
        } catch (SQLException e) {
            // The failure that led here is the one to tell; a rollback follows in any case.
        }
    }
}
