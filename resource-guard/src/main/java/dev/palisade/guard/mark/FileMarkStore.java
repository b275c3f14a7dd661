package dev.palisade.guard.mark;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
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
 * Keeps marks in a directory of its own on a local disk: one file, synced before anything is acknowledged, and read and
 * checked whole when it is opened. One process has it, by an operating system's file lock, from {@link #open} to {@link
 * #close} or its death. Use a local file system whose syncs and locks can be relied on.
 *
 * <p>Its one setting is the directory. A missing or empty one is a new store, which is not {@link KeptMarks#complete}. The
 * file holds the marks that were put and not dropped; it takes at most 1 MiB or three times their size, and as much again
 * for a moment when it is rewritten, which happens each time its room is used up. Everything else in the directory, and
 * every damage, is refused: it never guesses, and never repairs.
 *
 * <p>A file put back from an older copy looks whole and admits former holders: never restore one. Move the directory away
 * instead; a new store costs base marks from the lock service and a wait.
 */
public final class FileMarkStore implements MarkStore {
    private static final String START_ANEW = "stop the guard and move the directory away: a new store asks the lock"
            + " service for base marks (an older copy in its place would admit former holders)";

    private final Path directory;
    private @Nullable MarkDirectory held;
    private @Nullable MarkLog log;
    private @Nullable GroupCommit commit;
    private Marks marks = new Marks();
    private String id = "";

    private FileMarkStore(Path directory) {
        this.directory = directory;
    }

    /** Touches nothing before {@link #open}. */
    public static FileMarkStore at(Path directory) {
        return new FileMarkStore(directory);
    }

    /**
     * Makes a store that is {@link KeptMarks#complete}: every domain without a base mark counts as never used, so the first
     * grants are admitted without asking the lock service. Only for an operator who knows that nothing was ever guarded
     * under these resources; once, at installation, never at each start.
     *
     * @param directory missing or empty
     * @throws RejectedException MARK_UNAVAILABLE: there is a store already, in use or not, or it cannot be made
     */
    public static void createNeverUsed(Path directory) {
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
    public KeptMarks open() {
        if (held != null) {
            throw new IllegalStateException("a mark store is opened once; make another with FileMarkStore.at");
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
            // Anew, so that no record ever follows one that was cut short.
            log = MarkLog.replace(directory, marks, nextNumber);
            commit = GroupCommit.start(directory.toString(), this::keep, this::unwritable);
            return kept;
        } catch (MarkLogReader.DamagedException e) {
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
    public CompletionStage<Void> put(StoredMark mark) {
        return opened().add(new Change.Put(mark));
    }

    @Override
    public CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return opened().add(new Change.Base(base, List.copyOf(dropped)));
    }

    @Override
    public CompletionStage<Void> confirm() {
        RejectedException shut = opened().shut();
        return shut == null ? CompletableFuture.completedStage(null) : CompletableFuture.failedStage(shut);
    }

    @Override
    public boolean isHeldForLife() {
        return true;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Optional<Rejection> failure() {
        return Optional.ofNullable(opened().shut()).map(RejectedException::rejection);
    }

    @Override
    public void close(boolean inOrder) {
        if (commit != null) {
            commit.close(inOrder ? new Change.State(marks.isComplete(), true) : null);
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
