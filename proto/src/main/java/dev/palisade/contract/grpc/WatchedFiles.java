package dev.palisade.contract.grpc;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** A group of files that are used together, with the content that is in use. Not thread-safe. */
final class WatchedFiles {
    private final List<Path> paths;
    private final boolean isReadAgain;
    private final Use use;
    private List<PemFile> inUse = List.of();
    private String problem = "";
    private boolean isReported;

    /** Puts files into use, or throws and changes nothing. */
    @FunctionalInterface
    interface Use {
        void accept(List<PemFile> files, Instant now) throws TlsUnusable;
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
    }

    /**
     * Returns whether new content is in use.
     *
     * @param problems takes what is wrong with the files: once, and only after two calls in a row found the same
     */
    boolean reload(Instant now, List<String> problems) {
        try {
            List<PemFile> files = read();
            boolean changed = !files.equals(inUse);
            if (changed) {
                use.accept(files, now);
                inUse = files;
            }
            problem = "";
            return changed;
        } catch (TlsUnusable e) {
            boolean again = e.message().equals(problem);
            if (again && !isReported) {
                problems.add(problem);
            }
            isReported = again;
            problem = e.message();
            return false;
        }
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
