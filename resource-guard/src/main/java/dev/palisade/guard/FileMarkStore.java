package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.files.RecordFileReader.DamagedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The store of {@link MarkStore#file}: one file, synced before anything is acknowledged, in a directory that one process has.
 * Never guesses and never repairs.
 */
final class FileMarkStore extends MarkStore {
    private static final String START_ANEW = "stop the guard and move the directory away: a new store asks the lock"
            + " service for base marks (an older copy in its place would admit former holders)";

    private final Path directory;
    private @Nullable MarkDirectory held;
    private @Nullable MarkLog log;
    private @Nullable GroupCommit commit;
    private Marks marks = new Marks();
    private String id = "";

    /** Set by the callers, since {@link #marks} is the one thread's. */
    private volatile boolean complete;

    /** Touches nothing before {@link #open}. */
    FileMarkStore(Path directory) {
        this.directory = directory;
    }

    /** Makes a store that is {@link KeptMarks#complete}: {@link MarkStore#createNeverUsed(Path)}. */
    static void makeNeverUsed(Path directory) {
        FileMarkStore store = new FileMarkStore(directory);
        // The lock file alone says that marks were kept here once: whoever lost them must not take that for never used.
        store.refuseIfThere(MarkDirectory.LOCK_FILE);
        try {
            store.held = MarkDirectory.hold(directory);
            store.refuseIfThere(MarkLog.FILE);
            store.marks.apply(new Change.State(true, true));
            MarkLog.replace(directory, store.marks, 1).close();
        } catch (IOException e) {
            throw store.unwritable(e);
        } finally {
            store.release();
        }
    }

    private void refuseIfThere(String file) {
        if (!Files.notExists(directory.resolve(file))) {
            throw Unavailable.because(
                    "directory " + directory + " holds a mark store already, or what is left of one, and"
                            + " keeps it; leave out its creation, or name an empty directory");
        }
    }

    @Override
    KeptMarks open() {
        if (held != null) {
            throw new IllegalStateException("a mark store is opened once; make another with MarkStore.file");
        }
        try {
            held = MarkDirectory.hold(directory);
            long nextNumber = Files.notExists(file()) ? 1 : MarkLogReader.read(file(), marks);
            KeptMarks kept = marks.kept();
            marks.apply(new Change.State(kept.complete(), false));
            if (marks.id().isEmpty()) {
                // Not before: a directory that an installer copies must not make two guards look like one.
                marks.apply(new Change.Identity(Marks.newId()));
            }
            id = marks.id();
            complete = kept.complete();
            // Anew, so that no record ever follows one that was cut short.
            log = MarkLog.replace(directory, marks, nextNumber);
            commit = GroupCommit.start(directory.toString(), this::keep, this::unwritable);
            return kept;
        } catch (DamagedException e) {
            release();
            throw Unavailable.because("mark file " + file() + " has " + e.getMessage() + "; " + START_ANEW, e);
        } catch (IOException e) {
            release();
            throw unwritable(e);
        } catch (RuntimeException | Error e) {
            release();
            throw e;
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
        complete = false;
        return opened().add(new Change.Forget());
    }

    @Override
    CompletionStage<Void> putRegistration(String name, long token) {
        return opened().add(new Change.Registration(name, token));
    }

    @Override
    CompletionStage<Void> confirm() {
        RejectedException refusal = opened().refusal();
        return refusal == null ? CompletableFuture.completedStage(null) : CompletableFuture.failedStage(refusal);
    }

    @Override
    boolean isHeldForLife() {
        return true;
    }

    @Override
    String id() {
        return id;
    }

    @Override
    Optional<Rejection> failure() {
        return Optional.ofNullable(opened().refusal()).map(RejectedException::rejection);
    }

    @Override
    void close(boolean inOrder) {
        if (commit != null) {
            commit.close(inOrder ? new Change.State(complete, true) : null);
        }
        release();
    }

    /** On the one thread. */
    private void keep(List<Change> batch) throws IOException {
        batch.forEach(marks::apply);
        MarkLog before = openedLog();
        if (!before.append(batch)) {
            before.close();
            log = MarkLog.replace(directory, marks, before.nextNumber());
        }
    }

    private Path file() {
        return directory.resolve(MarkLog.FILE);
    }

    private RejectedException unwritable(Throwable failure) {
        return Unavailable.because(
                "marks in directory " + directory + " cannot be read or kept (" + Unavailable.oneLine(failure)
                        + "); what was being kept may or may not be: mend the disk or the rights, then start the guard"
                        + " again",
                failure);
    }

    private GroupCommit opened() {
        GroupCommit opened = commit;
        if (opened == null) {
            throw new IllegalStateException("a mark store is opened before it is used");
        }
        return opened;
    }

    private MarkLog openedLog() {
        MarkLog opened = log;
        if (opened == null) {
            throw new IllegalStateException("a mark store is opened before it is used");
        }
        return opened;
    }

    private void release() {
        try {
            if (log != null) {
                log.close();
            }
        } catch (IOException e) {
            // All that was acknowledged is synced.
        }
        log = null;
        if (held != null) {
            held.close();
        }
    }
}
