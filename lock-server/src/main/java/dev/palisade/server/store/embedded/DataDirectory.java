package dev.palisade.server.store.embedded;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The directory of one embedded store: locked for one process, and marked once its first epoch is on disk. The mark is
 * what tells a lost journal from one that never was, so that nothing is ever silently begun anew.
 */
final class DataDirectory implements AutoCloseable {
    private static final String LOCK = "LOCK";
    private static final String MARK = "PALISADE-STORE";
    private static final String FORMAT = "palisade embedded store, format 1\n";

    private final Path path;
    private final FileChannel lock;

    private DataDirectory(Path path, FileChannel lock) {
        this.path = path;
        this.lock = lock;
    }

    static DataDirectory open(Path path) throws StoreUnusable {
        try {
            if (Files.exists(path) && !Files.isDirectory(path)) {
                throw new StoreUnusable("data directory " + path + " is not a directory; name another with --data-dir");
            }
            Files.createDirectories(path);
            refuseStrangers(path);
            refuseOtherFormat(path);
            FileChannel lock =
                    FileChannel.open(path.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (!locked(lock)) {
                lock.close();
                throw new StoreUnusable("data directory " + path
                        + " is in use by another lock server; stop it or use another directory");
            }
            return new DataDirectory(path, lock);
        } catch (IOException e) {
            throw new StoreUnusable(
                    "data directory " + path + " cannot be used (" + e + "); check its owner and free space", e);
        }
    }

    Path journal() {
        return path.resolve("journal");
    }

    /** Whether a store was once completely made here. */
    boolean isMarked() {
        return Files.exists(path.resolve(MARK));
    }

    /** Called once, when the first epoch is durable. */
    void mark() throws IOException {
        Path aside = path.resolve(MARK + ".new");
        Files.writeString(
                aside, FORMAT, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
        try (FileChannel channel = FileChannel.open(aside, StandardOpenOption.WRITE)) {
            channel.force(true);
        }
        Files.move(aside, path.resolve(MARK), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        try (FileChannel directory = FileChannel.open(path, StandardOpenOption.READ)) {
            directory.force(true);
        }
    }

    /** Whether the journal has any file. */
    boolean hasJournal() throws IOException {
        if (!Files.isDirectory(journal())) {
            return false;
        }
        try (Stream<Path> files = Files.list(journal())) {
            return files.findAny().isPresent();
        }
    }

    private static void refuseOtherFormat(Path path) throws IOException, StoreUnusable {
        Path mark = path.resolve(MARK);
        if (Files.exists(mark) && !new String(Files.readAllBytes(mark), StandardCharsets.ISO_8859_1).equals(FORMAT)) {
            throw new StoreUnusable("data directory " + path + " was written by another release of Palisade (see "
                    + MARK + "); use that release or another directory");
        }
    }

    private static void refuseStrangers(Path path) throws IOException, StoreUnusable {
        List<String> ours = List.of(LOCK, MARK, MARK + ".new", "journal");
        try (Stream<Path> entries = Files.list(path)) {
            List<String> strangers = entries.map(entry -> entry.getFileName().toString())
                    .filter(name -> !ours.contains(name))
                    .sorted()
                    .limit(3)
                    .collect(Collectors.toList());
            if (!strangers.isEmpty()) {
                throw new StoreUnusable("data directory " + path + " holds other files (" + String.join(", ", strangers)
                        + "); name an empty one with --data-dir");
            }
        }
    }

    private static boolean locked(FileChannel lock) throws IOException {
        try {
            return lock.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            return false;
        }
    }

    @Override
    public void close() {
        try {
            lock.close();
        } catch (IOException e) {
            // The process ends; the lock ends with it.
        }
    }
}
