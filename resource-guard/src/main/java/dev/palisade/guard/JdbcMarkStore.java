package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.MarkTables.Owner;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The store of {@link MarkStore#jdbc(DataSource, Duration)}: one thread, and one transaction for all that has queued up, which
 * first locks the owner row and compares. The guard must not trust the time in between, and it does not: see {@link
 * #isHeldForLife}.
 *
 * <p>A commit without an answer is taken for neither kept nor lost: the store takes nothing more, and opening it anew tells.
 * Only a {@link #confirm}, which keeps nothing, may fail and be repeated while the database is away.
 */
final class JdbcMarkStore extends MarkStore {
    private static final String START_ANEW =
            "stop the guard and empty the four tables: a new store asks the lock service for base marks";

    private static final String TAKEN_OVER = "another guard instance now owns these marks; run one guard per resource:"
            + " a second guard with marks of its own would let late writes through";

    private final DataSource dataSource;
    private final int seconds;
    private @Nullable GroupCommit commit;
    private volatile Owner self = new Owner(Marks.newId(), false, false, Marks.newId());

    private interface Work<T> {
        T in(MarkTables tables) throws SQLException;
    }

    /** Touches nothing before {@link #open}. */
    JdbcMarkStore(DataSource dataSource, Duration statementTimeout) {
        if (statementTimeout.toSeconds() < 1 || statementTimeout.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("statement timeout " + statementTimeout + " is not within 1 s to 1 h");
        }
        this.dataSource = dataSource;
        this.seconds = (int) statementTimeout.toSeconds();
    }

    void createTables() {
        transact(tables -> {
            tables.create();
            return true;
        });
    }

    /** Makes the store {@link KeptMarks#complete}: {@link MarkStore#createNeverUsed(DataSource)}. */
    void createNeverUsed() {
        transact(tables -> {
            if (tables.lockOwner() != null || tables.holdsMarks()) {
                throw Unavailable.because(
                        "the tables palisade_marks hold a mark store already and keep it; leave out its" + " creation");
            }
            tables.insertOwner(new Owner(self.id(), true, true, self.marksId()));
            return true;
        });
    }

    @Override
    KeptMarks open() {
        if (commit != null) {
            throw new IllegalStateException("a mark store is opened once; make another with MarkStore.jdbc");
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
            if (tables.holdsMarks()) {
                throw Unavailable.because(
                        "palisade_marks_owner has no row but there are marks: the tables are damaged; " + START_ANEW);
            }
        } else if (before.isShared()) {
            throw Unavailable.because(
                    "the tables palisade_marks hold a register that several guards share; open it with"
                            + " MarkStore.shared: a guard with marks of its own beside them would let late writes through");
        } else {
            String marksId = before.marksId().isEmpty() ? self.marksId() : before.marksId();
            self = new Owner(self.id(), before.complete(), false, marksId);
            tables.updateOwner(self);
        }
        try {
            return new KeptMarks(
                    before.complete(), before.closedInOrder(), tables.marks(), tables.bases(), tables.registrations());
        } catch (IllegalArgumentException | RejectedException e) {
            throw Unavailable.because(
                    "a row of palisade_marks holds no mark (" + Unavailable.oneLine(e) + "); " + START_ANEW, e);
        }
    }

    @Override
    CompletionStage<Void> put(StoredMark mark) {
        return opened().add(new Change.Put(mark));
    }

    @Override
    CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return opened().add(new Change.Base(base, List.copyOf(dropped)));
    }

    @Override
    CompletionStage<Void> forgetMarks() {
        self = new Owner(self.id(), false, self.closedInOrder(), self.marksId());
        return opened().add(new Change.Forget());
    }

    @Override
    CompletionStage<Void> putRegistration(String name, long token) {
        return opened().add(new Change.Registration(name, token));
    }

    /** The owner row is locked and compared anew, and that is committed: no older state of a database can pass for it. */
    @Override
    CompletionStage<Void> confirm() {
        return opened().add(new Change.Confirm());
    }

    @Override
    boolean isHeldForLife() {
        return false;
    }

    @Override
    String id() {
        return self.marksId();
    }

    @Override
    Optional<Rejection> failure() {
        return Optional.ofNullable(opened().refusal()).map(RejectedException::rejection);
    }

    @Override
    void close(boolean inOrder) {
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
                        + " (MarkStore.createTables) and writable? then start the guard again",
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
