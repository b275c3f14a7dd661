package dev.palisade.guard.storage;

import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.core.Access;
import dev.palisade.guard.core.Binding;
import dev.palisade.guard.core.Mark;
import dev.palisade.guard.core.Verdict;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.Map;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The fence inside a SQL transaction: the first statement compares the caller's token with the resource's mark and raises
 * it, the work follows, and one commit makes both true or neither (protocol, the guard, "in the transaction"). Its place is
 * a service's data layer, on the service's own {@link DataSource}; PostgreSQL and H2 are known.
 *
 * <p>While an EXCLUSIVE transaction is open, calls of other grants wait on the row. SHARED readers run together, except that a
 * grant's first read waits for the first reads of others, and on PostgreSQL for all that are open. A rollback
 * lowers the mark again, together with the data: what was read in it must be forgotten. {@link #claim} commits the raise
 * alone.
 *
 * <p>It never trusts an unverified sequencer, never applies part of the work, never waits for a row longer than {@link
 * #withLockWait}, and never says "not applied" of a commit whose fate it does not know. Immutable; safe to share.
 */
public final class FencedJdbc {
    /** How long a call waits for the calls of other grants unless told otherwise. */
    public static final Duration LOCK_WAIT_DEFAULT = Duration.ofSeconds(5);

    /** Runs of one call, the first included, when the database rolls it back for reasons of its own. */
    public static final int RUNS_MAX = 10;

    private final DataSource dataSource;
    private final SequencerVerifier verifier;
    private final SqlDialect dialect;
    private final FenceTable table;
    private final Duration lockWait;

    private FencedJdbc(DataSource dataSource, SequencerVerifier verifier, SqlDialect dialect, Duration lockWait) {
        this.dataSource = dataSource;
        this.verifier = verifier;
        this.dialect = dialect;
        this.table = new FenceTable(dialect);
        this.lockWait = lockWait;
    }

    /**
     * Asks the database what it is; {@link #createTable} is up to the caller.
     *
     * @throws SQLException in one line, when it cannot be reached or is neither PostgreSQL nor H2
     */
    public static FencedJdbc create(DataSource dataSource, SequencerVerifier verifier) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            return new FencedJdbc(dataSource, verifier, SqlDialect.of(connection), LOCK_WAIT_DEFAULT);
        }
    }

    /**
     * The same fence with another bound on waiting for other grants' calls; cheap, for one call if need be.
     *
     * @param wait for each run of a call, 1 ms to 1 h
     * @throws IllegalArgumentException out of that range
     */
    public FencedJdbc withLockWait(Duration wait) {
        if (wait.toMillis() < 1 || wait.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("lock wait " + wait + " is not within 1 ms to 1 h");
        }
        return new FencedJdbc(dataSource, verifier, dialect, wait);
    }

    /**
     * Creates {@code palisade_fence} unless it exists, and adds columns that one of an earlier version lacks; the same DDL
     * ships beside this class as a resource.
     */
    public void createTable() throws SQLException {
        try (OwnTransaction transaction =
                OwnTransaction.begin(dataSource, Connection.TRANSACTION_READ_COMMITTED, "palisade_fence")) {
            FenceTable.create(transaction.connection());
            transaction.commit();
        } catch (SQLException e) {
            // Two processes created it at once: PostgreSQL tells one of them of a duplicate key in its catalogue.
            if (SqlFailure.of(e) != SqlFailure.CONSTRAINT) {
                throw e;
            }
        }
    }

    /**
     * Runs {@code work} as a guarded write: opens a transaction, checks, runs, commits. Only for EXCLUSIVE grants.
     *
     * @throws RejectedException SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED, TOKEN_STALE, DRAINING (older calls did
     *     not end within the lock wait), MARK_UNAVAILABLE (the table cannot be used), STORE_UNAVAILABLE: all not applied; or
     *     OUTCOME_UNKNOWN
     * @throws SQLException from {@code work}, after the rollback: not applied
     */
    public <T> T write(SignedSequencer signed, Binding binding, Work<T> work) throws SQLException {
        return transaction(signed, binding, Access.WRITE, work);
    }

    /**
     * Runs {@code work} as a guarded read, with the errors of {@link #write}. Raises the mark too, so what was read stays
     * true until a newer grant is admitted. Use the result only if this returns: a rollback lowers the mark again.
     */
    public <T> T read(SignedSequencer signed, Binding binding, Work<T> work) throws SQLException {
        return transaction(signed, binding, Access.READ, work);
    }

    /**
     * Raises the mark and commits that alone: after it returns no call with an older token is applied, whatever is rolled
     * back later. Errors as for {@link #write}.
     *
     * @return the mark it left
     */
    public Mark claim(SignedSequencer signed, Binding binding) throws SQLException {
        return transaction(signed, binding, Access.READ, connection -> mark(connection, binding.resource()));
    }

    /** The committed mark of {@code resource}, for people; nothing to decide by, it may be raised the next moment. */
    public Mark mark(String resource) throws SQLException {
        try (OwnTransaction transaction =
                OwnTransaction.begin(dataSource, Connection.TRANSACTION_READ_COMMITTED, resource)) {
            return mark(transaction.connection(), resource);
        }
    }

    /** The mark of {@code resource} as the transaction on {@code connection} sees it: inside guarded work, the mark it left. */
    public Mark mark(Connection connection, String resource) throws SQLException {
        FenceTable.Row row = table.read(connection, resource);
        return row == null ? Mark.NONE : row.mark();
    }

    /**
     * Joins a transaction that the caller opened and will commit: must be its first statement, so that everything it reads
     * and writes comes after the raise. After any exception the caller must roll back. JDBC does not tell of savepoints and
     * earlier statements: whoever uses savepoints, or swallows errors of statements, calls {@link Fence#confirm} right
     * before the commit, which finds a check that was rolled back. The resource's first use ever needs a second connection.
     *
     * @return the check, for {@link Fence#confirm}
     * @throws RejectedException as {@link #write}, OUTCOME_UNKNOWN excepted
     * @throws SQLTransactionRollbackException the database wants the whole transaction run again; nothing was applied
     * @throws IllegalStateException when the connection is in autocommit, or reads what others have not committed
     */
    public Fence check(Connection connection, SignedSequencer signed, Binding binding, Access access)
            throws SQLException {
        Sequencer sequencer = verified(signed, binding, access);
        if (connection.getAutoCommit()) {
            throw new IllegalStateException("FencedJdbc.check on '" + binding.resource()
                    + "': the connection is in autocommit, the check would end with itself; call setAutoCommit(false)");
        }
        if (connection.getTransactionIsolation() < Connection.TRANSACTION_READ_COMMITTED) {
            throw new IllegalStateException("FencedJdbc.check on '" + binding.resource()
                    + "': the transaction reads uncommitted data; use READ COMMITTED or stricter");
        }
        try {
            long number = admit(connection, sequencer, binding, access);
            if (number == FenceTable.REFUSED) {
                insertRowElsewhere(binding.resource());
                number = admit(connection, sequencer, binding, access);
            }
            if (number == FenceTable.REFUSED) {
                // The caller's snapshot is older than the row.
                throw moved("the mark of '" + binding.resource() + "' was just made; run the transaction again");
            }
            return new Fence(table, sequencer, binding.resource(), number);
        } catch (SQLException e) {
            throw SqlFailure.of(e) == SqlFailure.ROLLED_BACK ? inOneType(e) : e;
        }
    }

    /** Not every driver has the type that JDBC has for it; callers should need to know one only. */
    private static SQLException inOneType(SQLException failure) {
        return failure instanceof SQLTransactionRollbackException
                ? failure
                : new SQLTransactionRollbackException(failure.getMessage(), failure.getSQLState(), failure);
    }

    private static SQLTransactionRollbackException moved(String message) {
        return new SQLTransactionRollbackException(message, "40001");
    }

    private Sequencer verified(SignedSequencer signed, Binding binding, Access access) {
        Sequencer sequencer = verifier.verify(signed);
        binding.require(sequencer, access);
        return sequencer;
    }

    private <T> T transaction(SignedSequencer signed, Binding binding, Access access, Work<T> work)
            throws SQLException {
        Sequencer sequencer = verified(signed, binding, access);
        SQLException last = null;
        for (int run = 1; run <= RUNS_MAX; run++) {
            try (OwnTransaction transaction = begin(sequencer.mode(), binding.resource())) {
                long number = admit(transaction.connection(), sequencer, binding, access);
                if (number == FenceTable.REFUSED) {
                    transaction.rollback();
                    insertRow(transaction.connection(), binding.resource());
                    continue;
                }
                T result = transaction.run(work);
                new Fence(table, sequencer, binding.resource(), number).confirm(transaction.connection());
                transaction.commit();
                return result;
            } catch (SQLException e) {
                switch (SqlFailure.of(e)) {
                    case ROLLED_BACK -> last = e;
                    case UNREACHABLE -> throw unavailable(binding.resource(), e);
                    case LOCK_TIMEOUT, CONSTRAINT, OTHER -> throw e;
                }
            }
        }
        throw rejection(
                Reason.DRAINING,
                "the database rolled the call on '" + binding.resource() + "' back " + RUNS_MAX
                        + " times; nothing was applied: try again later",
                binding.resource(),
                "no",
                last);
    }

    private OwnTransaction begin(Mode mode, String resource) {
        try {
            return OwnTransaction.begin(dataSource, dialect.isolation(mode), resource);
        } catch (SQLException e) {
            throw unavailable(resource, e);
        }
    }

    /** The check. REFUSED: there is no row yet, nothing was decided. */
    private long admit(Connection connection, Sequencer sequencer, Binding binding, Access access) throws SQLException {
        try {
            String before = dialect.boundLockWait(connection, lockWait);
            long number;
            try {
                number = table.raise(connection, binding.resource(), sequencer);
            } catch (SQLException e) {
                restoreQuietly(connection, before);
                throw e;
            }
            dialect.restoreLockWait(connection, before);
            if (number == FenceTable.REFUSED) {
                nameTheRefusal(connection, sequencer, binding, access);
            }
            return number;
        } catch (SQLException e) {
            switch (SqlFailure.of(e)) {
                case ROLLED_BACK -> throw e;
                case UNREACHABLE -> throw unavailable(binding.resource(), e);
                case LOCK_TIMEOUT -> throw draining(binding.resource(), e);
                case CONSTRAINT, OTHER -> throw markUnavailable(binding.resource(), e);
            }
            throw e;
        }
    }

    /** Returns when there is no row; otherwise throws. */
    private void nameTheRefusal(Connection connection, Sequencer sequencer, Binding binding, Access access)
            throws SQLException {
        FenceTable.Row row = table.read(connection, binding.resource());
        if (row == null) {
            return;
        }
        if (row.mark().judge(binding.resource(), sequencer, access) instanceof Verdict.Refused refused) {
            long when = row.mark().refusesByShared(sequencer) ? row.sharedAtMillis() : row.exclusiveAtMillis();
            throw (when == 0
                            ? refused.rejection()
                            : refused.rejection().with(Rejection.SUPERSEDED_AT_MILLIS, Long.toString(when)))
                    .asException();
        }
        // The row moved between the two statements: the refusal has no reason any more, the next run finds out.
        throw moved("the mark of '" + binding.resource() + "' moved");
    }

    /** In a transaction of its own: a row that another transaction has not committed is nothing to wait for twice. */
    private void insertRow(Connection connection, String resource) throws SQLException {
        try {
            table.insertRow(connection, resource);
            connection.commit();
        } catch (SQLException e) {
            connection.rollback();
            switch (SqlFailure.of(e)) {
                // Somebody else is making it, or has made it: the next run waits for it as for any other row.
                case CONSTRAINT, LOCK_TIMEOUT, ROLLED_BACK -> {}
                case UNREACHABLE, OTHER -> throw e;
            }
        }
    }

    private void insertRowElsewhere(String resource) throws SQLException {
        try (OwnTransaction transaction = begin(Mode.EXCLUSIVE, resource)) {
            insertRow(transaction.connection(), resource);
        }
    }

    private void restoreQuietly(Connection connection, String before) {
        try {
            if (dialect == SqlDialect.H2) {
                dialect.restoreLockWait(connection, before);
            }
        } catch (SQLException e) {
            // The failure that led here is the one to tell; a rollback follows in any case.
        }
    }

    private RejectedException draining(String resource, SQLException cause) {
        return rejection(
                Reason.DRAINING,
                "calls of other grants on '" + resource + "' did not end within " + lockWait.toMillis()
                        + " ms; nothing was applied: try again",
                resource,
                "no",
                cause);
    }

    private static RejectedException markUnavailable(String resource, SQLException cause) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' cannot be read or raised (" + oneLine(cause)
                        + "); nothing was applied: is the table palisade_fence there (createTable) and writable?",
                resource,
                "no",
                cause);
    }

    private static RejectedException unavailable(String resource, SQLException cause) {
        return rejection(
                Reason.STORE_UNAVAILABLE,
                "the database that holds '" + resource + "' cannot be reached (" + oneLine(cause)
                        + "); nothing was applied: try again later",
                resource,
                "no",
                cause);
    }

    static RejectedException rejection(
            Reason reason, String message, String resource, String applied, @Nullable Throwable cause) {
        RejectedException exception = new Rejection(
                        reason, message, Map.of(Rejection.RESOURCE, resource, Rejection.APPLIED, applied))
                .asException();
        if (cause != null) {
            exception.initCause(cause);
        }
        return exception;
    }

    static String oneLine(SQLException failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
    }
}
