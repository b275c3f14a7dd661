package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.function.Consumer;
import javax.sql.DataSource;

/**
 * The fence inside a SQL transaction: the first statement compares the caller's token with the resource's mark and raises
 * it, the work follows, and one commit makes both true or neither (protocol, the guard, "in the transaction"). Its place is
 * a service's data layer, on the service's own {@link DataSource}; PostgreSQL, MySQL, MariaDB and H2 are known.
 *
 * <p>While an EXCLUSIVE transaction is open, calls of other grants wait on the row. SHARED readers run together, except that a
 * grant's first read waits for the first reads of others, and except on H2 for all that are open. A rollback
 * lowers the mark again, together with the data: what was read in it must be forgotten. {@link #claim} commits the raise
 * alone.
 *
 * <p>It never trusts an unverified sequencer, never applies part of the work, never waits for a row longer than {@link
 * #withLockWait}, and never says "not applied" of a commit whose fate it does not know. Immutable; safe to share.
 */
public final class FencedJdbc {
    /**
     * The statements that {@link #write} and {@link #read} run inside the guarded transaction. May run several times, each time
     * after a rollback, so it must not do anything outside the transaction that cannot be repeated.
     */
    @FunctionalInterface
    public interface Work<T> {
        /**
         * @param connection the guarded transaction; committing, rolling back, closing it or switching autocommit is refused.
         *     Statements that commit by themselves (DDL, except on PostgreSQL) must not be run on it.
         */
        T run(Connection connection) throws SQLException;
    }

    /** How long a call waits for the calls of other grants unless told otherwise. */
    public static final Duration LOCK_WAIT_DEFAULT = Duration.ofSeconds(5);

    /** Runs of one call, the first included, when the database rolls it back for reasons of its own. */
    public static final int RUNS_MAX = 10;

    private final DataSource dataSource;
    private final SequencerVerifier verifier;
    private final SqlDialect dialect;
    private final FenceTable table;
    private final SpringTransactions spring;
    private final FenceCounters counters;
    private final Duration lockWait;
    private final FenceCheck check;
    private final boolean repeatsWork;

    private FencedJdbc(
            DataSource dataSource,
            SequencerVerifier verifier,
            SqlDialect dialect,
            SpringTransactions spring,
            FenceCounters counters,
            Duration lockWait,
            boolean repeatsWork) {
        this.dataSource = dataSource;
        this.verifier = verifier;
        this.dialect = dialect;
        this.table = new FenceTable(dialect);
        this.spring = spring;
        this.counters = counters;
        this.lockWait = lockWait;
        this.check = new FenceCheck(dialect, table, lockWait);
        this.repeatsWork = repeatsWork;
    }

    /**
     * Asks the database what it is; {@link #createTable} is up to the caller. Refusals go to the {@link System.Logger} {@code
     * dev.palisade.guard.events} at level INFO, on the thread of the call, a bounded number of lines a second.
     *
     * @throws SQLException in one line, when it cannot be reached, or is none of PostgreSQL, MySQL, MariaDB and H2, or is set up
     *     so that a row lock does not hold against all writers
     * @throws IllegalStateException for Spring's TransactionAwareDataSourceProxy: pass the data source behind it
     */
    public static FencedJdbc create(DataSource dataSource, SequencerVerifier verifier) throws SQLException {
        return create(dataSource, verifier, RefusalCounters::log);
    }

    /** @param eventLines where operators are told */
    static FencedJdbc create(DataSource dataSource, SequencerVerifier verifier, Consumer<String> eventLines)
            throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            SpringTransactions.requireUnshared(connection);
            return new FencedJdbc(
                    dataSource,
                    verifier,
                    SqlDialect.of(connection),
                    SpringTransactions.seenFrom(dataSource),
                    new FenceCounters(new EventLog(eventLines, System::nanoTime, EventLog.LINES_PER_SECOND)),
                    LOCK_WAIT_DEFAULT,
                    true);
        }
    }

    /**
     * The same fence with another bound on waiting for other grants' calls; cheap, for one call if need be.
     *
     * @param wait for each statement of a check that waits, 1 ms to 1 h; there may be three of them, in line, for the row, and at a
     *     resource's first use
     * @throws IllegalArgumentException out of that range
     */
    public FencedJdbc withLockWait(Duration wait) {
        if (wait.toMillis() < 1 || wait.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("lock wait " + wait + " is not within 1 ms to 1 h");
        }
        return new FencedJdbc(dataSource, verifier, dialect, spring, counters, wait, repeatsWork);
    }

    /**
     * The same fence for work that must not be repeated, because it also does something outside the database: {@link #write}
     * and {@link #read} run it once at most. A rollback by the database is then a {@link SQLTransactionRollbackException}.
     */
    public FencedJdbc withoutRetries() {
        return new FencedJdbc(dataSource, verifier, dialect, spring, counters, lockWait, false);
    }

    /** The same fence without log events, for a service that logs every refusal itself. Counts on its own, from 0. */
    public FencedJdbc withoutEvents() {
        return new FencedJdbc(dataSource, verifier, dialect, spring, counters.withoutEvents(), lockWait, repeatsWork);
    }

    /**
     * The same fence, which also passes on its refusals, on the thread of the call: to a {@code RefusalReports}, for {@code palisade
     * explain}. Shares the counts of this one.
     *
     * @param reports must not block, and must not throw
     */
    public FencedJdbc withReports(Consumer<Rejection> reports) {
        return new FencedJdbc(
                dataSource, verifier, dialect, spring, counters.reporting(reports), lockWait, repeatsWork);
    }

    /**
     * Counts, for metrics, of this fence and of the copies made of it: admitted and refused calls, and calls that are in
     * their check now, where they may wait for a row.
     */
    public GuardStats stats() {
        return counters.stats();
    }

    /**
     * Creates {@code palisade_fence} unless it exists, and adds columns that one of an earlier version lacks; the same DDL
     * ships beside this class as a resource.
     */
    public void createTable() throws SQLException {
        try (OwnTransaction transaction = begin(Connection.TRANSACTION_READ_COMMITTED, "palisade_fence")) {
            table.create(transaction.connection());
            transaction.commit();
        } catch (SQLException e) {
            // Two processes created it at once: PostgreSQL tells one of them of a duplicate key in its catalogue.
            if (SqlFailure.of(e) != SqlFailure.CONSTRAINT) {
                throw e;
            }
        }
    }

    /**
     * Runs {@code work} as a guarded write: opens a transaction on a connection of its own, checks, runs, commits. Only for
     * EXCLUSIVE grants. Guards what {@code work} runs on the connection it is given, nothing else. When the database rolls the
     * transaction back (serialization failure, deadlock), {@code work} runs again, up to {@link #RUNS_MAX} times in all; see
     * {@link #withoutRetries}.
     *
     * @throws RejectedException SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED, TOKEN_STALE, DRAINING (older calls did
     *     not end within the lock wait), MARK_UNAVAILABLE (the table cannot be used), STORE_UNAVAILABLE: all not applied; or
     *     OUTCOME_UNKNOWN
     * @throws SQLException from {@code work}, after the rollback: not applied
     * @throws IllegalStateException when a Spring transaction is active on this thread, when the transaction is read-only, or
     *     when {@code work} made no statement on its connection, not even a harmless one: to raise the mark only, {@link #claim}
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
        try (OwnTransaction transaction = begin(Connection.TRANSACTION_READ_COMMITTED, resource)) {
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
     * and writes comes after the raise. Runs on {@code connection} only. After any exception the caller must roll back. JDBC
     * does not tell of savepoints and earlier statements: callers that use savepoints, or swallow errors of statements, call
     * {@link Fence#confirm} right before the commit, which finds a check that was rolled back. An ORM may hold entities that it
     * read before: see {@code docs/guides/spring.md}.
     *
     * @return the check, for {@link Fence#confirm}
     * @throws RejectedException as {@link #write}, OUTCOME_UNKNOWN excepted
     * @throws SQLTransactionRollbackException the database wants the whole transaction run again; nothing was applied. At
     *     REPEATABLE READ and SERIALIZABLE this is the common answer to two transactions at once on one resource;
     *     on MySQL and MariaDB only if the transaction had read before
     * @throws IllegalStateException when the connection is in autocommit, is read-only, or reads what others have not
     *     committed
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
            Fence fence = admit(connection, sequencer, binding, access, true);
            counters.admitted();
            return fence;
        } catch (SQLException e) {
            throw SqlFailure.of(e) == SqlFailure.ROLLED_BACK ? FenceRejections.inOneType(e) : e;
        }
    }

    private Sequencer verified(SignedSequencer signed, Binding binding, Access access) {
        try {
            Sequencer sequencer = verifier.verify(signed);
            binding.require(sequencer, access);
            return sequencer;
        } catch (RejectedException e) {
            throw counters.refused(e);
        }
    }

    private Fence admit(Connection connection, Sequencer sequencer, Binding binding, Access access, boolean joined)
            throws SQLException {
        counters.checkBegins();
        try {
            long number = check.admit(connection, sequencer, binding, access, joined);
            return new Fence(table, counters, sequencer, binding.resource(), number);
        } catch (RejectedException e) {
            throw counters.refused(e);
        } finally {
            counters.checkEnds();
        }
    }

    private <T> T transaction(SignedSequencer signed, Binding binding, Access access, Work<T> work)
            throws SQLException {
        Sequencer sequencer = verified(signed, binding, access);
        String resource = binding.resource();
        boolean worked = false;
        SQLException last = null;
        for (int run = 1; run <= RUNS_MAX; run++) {
            try (OwnTransaction transaction = reached(sequencer.mode(), resource)) {
                Fence fence = admit(transaction.connection(), sequencer, binding, access, false);
                if (!worked) {
                    counters.admitted();
                }
                worked = true;
                T result = transaction.run(work);
                fence.confirm(transaction.connection());
                commit(transaction);
                return result;
            } catch (SQLException e) {
                switch (SqlFailure.of(e)) {
                    case ROLLED_BACK -> last = e;
                    case UNREACHABLE -> throw counters.refused(FenceRejections.unavailable(resource, e));
                    case LOCK_TIMEOUT, CONSTRAINT, READ_ONLY, OTHER -> throw e;
                }
                if (worked && !repeatsWork) {
                    throw FenceRejections.inOneType(e);
                }
            }
        }
        throw counters.refused(FenceRejections.rolledBack(resource, RUNS_MAX, last));
    }

    private void commit(OwnTransaction transaction) throws SQLException {
        try {
            transaction.commit();
        } catch (RejectedException e) {
            throw counters.refused(e);
        }
    }

    private OwnTransaction reached(Mode mode, String resource) {
        try {
            return begin(dialect.isolation(mode), resource);
        } catch (SQLException e) {
            throw counters.refused(FenceRejections.unavailable(resource, e));
        }
    }

    private OwnTransaction begin(int isolation, String resource) throws SQLException {
        return OwnTransaction.begin(dataSource, spring, dialect, isolation, resource);
    }
}
