package dev.palisade.contract.grpc;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A group of files that are used together, with the content that is in use. New content is used when two reads in a row found it: a file
 * that is being written is read half, and one of the group is written before the others. {@link #isUsable} is for all threads, all else
 * for one.
 */
final class WatchedFiles {
    private final List<Path> paths;
    private final boolean isReadAgain;
    private final Use use;
    private List<PemFile> inUse = List.of();
    /** Content of the last read. */
    private Object seen = inUse;
    /** Content or problem that was found twice and dealt with. */
    private Object judged = inUse;

    private volatile boolean isUsable = true;

    /** Puts files into use, or throws and changes nothing. */
    @FunctionalInterface
    interface Use {
        void accept(List<PemFile> files, Instant now) throws TlsUnusable;
    }

    /** Result of a {@link #reload}. */
    enum Outcome {
        UNCHANGED,
        REPLACED,
        /** Content that could not be used has gone, and the content in use is there again. */
        RESTORED
    }

    /** @param isReadAgain whether every path has to be a regular file */
    WatchedFiles(List<Path> paths, boolean isReadAgain, Use use) {
        this.paths = List.copyOf(paths);
        this.isReadAgain = isReadAgain;
        this.use = use;
    }

    void load(Instant now) throws TlsUnusable {
        List<PemFile> files = read();
        use.accept(files, now);
        inUse = files;
        seen = files;
        judged = files;
    }

    /** @throws TlsUnusable once for the same content or problem */
    Outcome reload(Instant now) throws TlsUnusable {
        List<PemFile> files = List.of();
        TlsUnusable unreadable = null;
        try {
            files = read();
        } catch (TlsUnusable e) {
            unreadable = e;
        }
        Object found = unreadable == null ? files : unreadable.message();
        boolean isSettled = found.equals(seen);
        seen = found;
        if (!isSettled || (isUsable && found.equals(judged))) {
            return Outcome.UNCHANGED;
        }
        boolean isReported = found.equals(judged);
        judged = found;
        try {
            return settled(files, unreadable, now);
        } catch (TlsUnusable e) {
            isUsable = false;
            if (isReported) {
                return Outcome.UNCHANGED; // A certificate of the future is tried until it is valid.
            }
            throw e;
        }
    }

    private Outcome settled(List<PemFile> files, @Nullable TlsUnusable unreadable, Instant now) throws TlsUnusable {
        if (unreadable != null) {
            throw unreadable;
        }
        boolean isRestored = files.equals(inUse);
        if (!isRestored) {
            try {
                use.accept(files, now);
            } catch (RuntimeException e) {
                throw new TlsUnusable("TLS file " + first() + " cannot be used (" + e + ")");
            }
            inUse = files;
        }
        isUsable = true;
        return isRestored ? Outcome.RESTORED : Outcome.REPLACED;
    }

    /** Whether what is in the files is in use. */
    boolean isUsable() {
        return isUsable;
    }

    /** The path that stands for the group in a report. */
    Path first() {
        return paths.get(0);
    }

    private List<PemFile> read() throws TlsUnusable {
        List<PemFile> files = new ArrayList<>();
        for (Path path : paths) {
            if (isReadAgain) {
                PemFile.requireFile(path);
            }
            files.add(PemFile.read(path));
        }
        return files;
    }
}
