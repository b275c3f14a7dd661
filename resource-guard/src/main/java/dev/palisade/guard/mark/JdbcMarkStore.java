package dev.palisade.guard.mark;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.mark.MarkTables.Owner;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Keeps marks in three tables of a database, PostgreSQL or H2, so that another machine can take a guard's place: whoever
 * opens the store has it from then on, at once, and the one before is refused at its next call. The guard must not trust
 * the time in between, and it does not: see {@link #isHeldForLife}.
 *
 * <p>One thread, one transaction for all that has queued up; each first locks the owner row and compares. It takes a
 * connection from the {@link DataSource} per transaction, so give it a pool. Commits must be durable when they are answered
 * (PostgreSQL: {@code synchronous_commit} not off, and synchronous replication if a replica may be promoted; H2: {@code
 * WRITE_DELAY=0}). No statement takes longer than the bound that {@link #over(DataSource, Duration)} is told; waiting for a
 * connection is bounded by the pool.
 *
 * <p>A commit without an answer is taken for neither kept nor lost: the store takes nothing more, and opening it anew tells.
 * Only a {@link #confirm}, which keeps nothing, may fail and be repeated while the database is away.
 * Never restore the tables from an older copy: it would admit former holders.
 */
public final class JdbcMarkStore implements MarkStore {
    /** The bound on a statement unless told otherwise. */
    public static final Duration STATEMENT_TIMEOUT_DEFAULT = Duration.ofSeconds(5);

    private static final String START_ANEW =
            "stop the guard and empty the three tables: a new store asks the lock service for base marks";

    private static final String TAKEN_OVER = "another guard instance now owns these marks; run one guard per resource:"
            + " a second guard with marks of its own would let late writes through";

    private final DataSource dataSource;
    private final int seconds;
    private @Nullable GroupCommit commit;
    private Owner self = new Owner(Marks.newId(), false, false, Marks.newId());

    private interface Work<T> {
        T in(MarkTables tables) throws SQLException;
    }

    private JdbcMarkStore(DataSource dataSource, Duration statementTimeout) {
        this.dataSource = dataSource;
        this.seconds = (int) statementTimeout.toSeconds();
    }

    /** Touches nothing before {@link #open}; {@link #createTable} is up to the caller. */
    public static JdbcMarkStore over(DataSource dataSource) {
        return over(dataSource, STATEMENT_TIMEOUT_DEFAULT);
    }

    /**
     * @param statementTimeout whole seconds, 1 s to 1 h; also the bound on an answer from the network, where the driver knows
     *     one
     * @throws IllegalArgumentException out of that range
     */
    public static JdbcMarkStore over(DataSource dataSource, Duration statementTimeout) {
        if (statementTimeout.toSeconds() < 1 || statementTimeout.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("statement timeout " + statementTimeout + " is not within 1 s to 1 h");
        }
        return new JdbcMarkStore(dataSource, statementTimeout);
    }

    /**
     * Creates the tables unless they exist; the same DDL ships beside this class as {@code palisade_marks.sql}.
     *
     * @throws RejectedException MARK_UNAVAILABLE, in one line
     */
    public void createTable() {
        transact(tables -> {
            tables.create();
            return true;
        });
    }

    /**
     * Makes the store {@link KeptMarks#complete}: every domain without a base mark counts as never used, so the first grants
     * are admitted without asking the lock service. Only for an operator who knows that nothing was ever guarded under these
     * resources; once, at installation, after {@link #createTable}, never at each start.
     *
     * @throws RejectedException MARK_UNAVAILABLE: there is a store already, or it cannot be made
     */
    public void createNeverUsed() {
        transact(tables -> {
            if (tables.lockOwner() != null || holdsMarks(tables)) {
                throw Unavailable.because(
                        "the tables palisade_marks hold a mark store already and keep it; leave out its" + " creation");
            }
            tables.insertOwner(new Owner(self.id(), true, true, self.marksId()));
            return true;
        });
    }

    @Override
    public KeptMarks open() {
        if (commit != null) {
            throw new IllegalStateException("a mark store is opened once; make another with JdbcMarkStore.over");
        }
        KeptMarks kept = transact(this::takeOver);
        self = new Owner(self.id(), kept.complete(), true, self.marksId());
        commit = GroupCommit.start("the tables palisade_marks", this::keep, JdbcMarkStore::unavailable);
        return kept;
    }

    /** The row is locked before anything is read: what the owner before commits later is refused, and all else is seen. */
    private KeptMarks takeOver(MarkTables tables) throws SQLException {
        Owner before = tables.lockOwner();
        if (before == null) {
            tables.insertOwner(self);
            before = self;
            if (holdsMarks(tables)) {
                throw Unavailable.because(
                        "palisade_marks_owner has no row but there are marks: the tables are damaged; " + START_ANEW);
            }
        } else {
            String marksId = before.marksId().isEmpty() ? self.marksId() : before.marksId();
            self = new Owner(self.id(), before.complete(), false, marksId);
            tables.updateOwner(self);
        }
        try {
            return new KeptMarks(before.complete(), before.closedInOrder(), tables.marks(), tables.bases());
        } catch (IllegalArgumentException | RejectedException e) {
            throw Unavailable.because(
                    "a row of palisade_marks holds no mark (" + Unavailable.oneLine(e) + "); " + START_ANEW, e);
        }
    }

    private static boolean holdsMarks(MarkTables tables) throws SQLException {
        return !tables.marks().isEmpty() || !tables.bases().isEmpty();
    }

    @Override
    public CompletionStage<Void> put(StoredMark mark) {
        return opened().add(new Change.Put(mark));
    }

    @Override
    public CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return opened().add(new Change.Base(base, List.copyOf(dropped)));
    }

    /** The owner row is locked and compared anew, and that is committed: no older state of a database can pass for it. */
    @Override
    public CompletionStage<Void> confirm() {
        return opened().add(new Change.Confirm());
    }

    @Override
    public boolean isHeldForLife() {
        return false;
    }

    @Override
    public String id() {
        return self.marksId();
    }

    @Override
    public Optional<Rejection> failure() {
        return Optional.ofNullable(opened().shut()).map(RejectedException::rejection);
    }

    @Override
    public void close(boolean inOrder) {
        if (commit != null) {
            commit.close(inOrder ? new Change.State(self.complete(), true) : null);
        }
    }

    /** On the one thread. */
    private void keep(List<Change> batch) throws GroupCommit.NothingChangedException {
        try {
            write(batch);
        } catch (RejectedException e) {
            if (e.getCause() instanceof SQLException cause
                    && batch.stream().allMatch(Change.Confirm.class::isInstance)) {
                throw new GroupCommit.NothingChangedException(unconfirmed(cause));
            }
            throw e;
        }
    }

    private void write(List<Change> batch) {
        transact(tables -> {
            Owner owner = tables.lockOwner();
            if (owner == null || !owner.id().equals(self.id())) {
                throw Unavailable.because(TAKEN_OVER);
            }
            tables.apply(batch);
            if (batch.get(batch.size() - 1) instanceof Change.State) {
                tables.updateOwner(self);
            }
            return true;
        });
    }

    private <T> T transact(Work<T> work) {
        try (MarkTransaction transaction = MarkTransaction.begin(dataSource, seconds)) {
            T result = work.in(new MarkTables(transaction.connection(), seconds));
            transaction.commit();
            return result;
        } catch (SQLException e) {
            throw unavailable(e);
        }
    }

    private static RejectedException unavailable(Throwable failure) {
        if (failure instanceof RejectedException rejected) {
            return rejected;
        }
        return Unavailable.because(
                "marks in the tables palisade_marks cannot be read or kept (" + Unavailable.oneLine(failure)
                        + "); what was being kept may or may not be: is the database up, are the tables there"
                        + " (createTable) and writable? then start the guard again",
                failure);
    }

    private static RejectedException unconfirmed(SQLException failure) {
        return Unavailable.because(
                "the database could not confirm that these marks are still this guard's ("
                        + Unavailable.oneLine(failure) + "); nothing was applied: try again when it is up",
                failure);
    }

    private GroupCommit opened() {
        GroupCommit opened = commit;
        if (opened == null) {
            throw new IllegalStateException("a mark store is opened before it is used");
        }
        return opened;
    }
}
