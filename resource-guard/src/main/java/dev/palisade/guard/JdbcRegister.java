package dev.palisade.guard;

import dev.palisade.guard.MarkTables.Owner;
import dev.palisade.guard.SharedRegister.Member;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** The register of {@link MarkStore#shared(DataSource, Duration)}: each step is a transaction on {@link RegisterTables}. */
final class JdbcRegister implements RegisterStore {
    private final DataSource dataSource;
    private final @Nullable DataSource listening;
    private final int seconds;
    private final String guard = Marks.newId();
    private @Nullable SqlDialect dialect;

    private volatile LeaveAnnouncements announcements = LeaveAnnouncements.NONE;
    private @Nullable PostgresListener listener;

    /**
     * @param listening gives the connection on which ends of calls are announced; null: waiting calls poll
     * @param seconds the bound on each statement
     */
    JdbcRegister(DataSource dataSource, @Nullable DataSource listening, int seconds) {
        this.dataSource = dataSource;
        this.listening = listening;
        this.seconds = seconds;
    }

    /** @return whether the database can hold a register, and has its tables now */
    static boolean createTables(DataSource dataSource, Duration statementTimeout) {
        int seconds = (int) statementTimeout.toSeconds();
        SqlDialect dialect;
        try (Connection connection = dataSource.getConnection()) {
            dialect = SqlDialect.of(connection);
        } catch (SQLException e) {
            return false;
        }
        if (dialect.registerDdl().isEmpty()) {
            return false;
        }
        return besideOthers(() -> {
            try (MarkTransaction transaction = MarkTransaction.begin(dataSource, seconds)) {
                new RegisterTables(transaction.connection(), dialect, seconds).create();
                transaction.commit();
                return true;
            }
        });
    }

    @Override
    public Joined join(Member member, long leaseMillis, Consumer<String> left) {
        Joined made = besideOthers(() -> {
            try (MarkTransaction transaction = MarkTransaction.begin(dataSource, seconds)) {
                requireDurable(transaction.connection());
                Joined joined = enroll(transaction.connection(), member, leaseMillis);
                boolean announces = dialect(transaction.connection()).canAnnounceLeaves(transaction.connection());
                transaction.commit();
                announcements = LeaveAnnouncements.of(joined.marksId(), announces, listening != null);
                if (listening != null && !announces) {
                    member.operator()
                            .warn(
                                    "register_polls",
                                    "the database of the shared register cannot announce ends of calls, so waiting calls poll:"
                                            + " only PostgreSQL can, with the tables of MarkStore.createTables of this version");
                }
                return joined;
            }
        });
        listen(left);
        return made;
    }

    private synchronized void listen(Consumer<String> left) {
        if (listening != null && announcements.listens()) {
            listener = new PostgresListener(listening, announcements.channel(), left);
        }
    }

    @Override
    public synchronized void close() {
        if (listener != null) {
            listener.close();
        }
    }

    @Override
    public String guard() {
        return guard;
    }

    @Override
    public String commandToEnd(String guard) {
        return "DELETE FROM palisade_register_guards WHERE id = '" + guard + "'";
    }

    /** {@inheritDoc} A transaction. */
    @Override
    public <T> T transact(Work<T> work) throws FailedException {
        T result;
        boolean committing = false;
        try (MarkTransaction transaction = MarkTransaction.begin(dataSource, seconds)) {
            SqlDialect known = dialect(transaction.connection());
            known.endEarlierTransaction(transaction.connection());
            result = work.in(new RegisterTables(transaction.connection(), known, seconds, announcements));
            committing = true;
            transaction.commit();
            return result;
        } catch (SQLException e) {
            throw new FailedException(e, committing && !SqlFailure.commitWasRefused(e));
        }
    }

    private interface Making<T> {
        T make() throws SQLException;
    }

    /** Once more if another replica, which starts at the same time, made what was missing first. */
    private static <T> T besideOthers(Making<T> making) {
        try {
            try {
                return making.make();
            } catch (SQLException e) {
                if (SqlFailure.of(e) != SqlFailure.CONSTRAINT) {
                    throw e;
                }
                return making.make();
            }
        } catch (SQLException e) {
            throw SharedRegister.unavailable(e);
        }
    }

    private Joined enroll(Connection connection, Member self, long leaseMillis) throws SQLException {
        MarkTables marks = new MarkTables(connection, seconds);
        RegisterTables tables = new RegisterTables(connection, dialect(connection), seconds);
        Owner before = marks.lockOwner();
        if (before == null) {
            if (marks.holdsMarks()) {
                throw Unavailable.because("palisade_marks_owner has no row but there are marks: the tables are damaged;"
                        + " stop all guards and empty the tables: a new register asks the lock service for base marks");
            }
            before = new Owner(guard, false, false, Marks.newId());
            marks.insertOwner(before.shared());
        } else if (!before.isShared()) {
            if (!before.closedInOrder()) {
                throw Unavailable.because(
                        "a guard with marks of its own (MarkStore.jdbc) has these tables, or was killed;"
                                + " beside it a shared register would let late writes through: close that guard first, or, if it"
                                + " is gone, empty the tables palisade_marks");
            }
            marks.updateOwner(before.shared());
        }
        boolean settles = !before.isShared() && before.closedInOrder();
        tables.join(settles, self.unknownOutcomeTimeout().toMillis());
        tables.insertGuard(guard, self.owner(), leaseMillis);
        RegisterRows.State state = tables.state();
        KeptMarks kept =
                new KeptMarks(state.complete(), state.isSettled(), List.of(), List.of(), marks.registrations());
        return new Joined(kept, before.marksId(), state, tables.isEmpty());
    }

    /** Refusals rest on commits: one that a crash of the database may take back would admit former holders. */
    private void requireDurable(Connection connection) throws SQLException {
        try {
            dialect(connection).requireDurableCommits(connection);
        } catch (SQLException e) {
            throw Unavailable.because("a crash of the database would take marks back: " + e.getMessage(), e);
        }
    }

    private synchronized SqlDialect dialect(Connection connection) throws SQLException {
        SqlDialect known = dialect;
        if (known == null) {
            known = SqlDialect.of(connection);
            if (known.registerDdl().isEmpty()) {
                throw Unavailable.because(
                        "a register that guards share needs PostgreSQL, MySQL or MariaDB; use one of them, or"
                                + " MarkStore.jdbc for a single guard");
            }
            dialect = known;
        }
        return known;
    }
}
