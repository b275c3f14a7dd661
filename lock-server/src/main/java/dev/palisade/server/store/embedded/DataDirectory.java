package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The directory of one embedded store: locked for one process, and marked once its first epoch is on disk. The mark is
 * what tells a lost journal from one that never was, so that nothing is ever silently begun anew.
 */
final class DataDirectory implements AutoCloseable {
    private static final String LOCK = "LOCK";
    private static final String MARK = "PALISADE-STORE";
    private static final String JOURNAL = "journal";
    private static final String FORMAT = "palisade embedded store, format 2\n";

    /**
     * What this process has locked. The system's file lock is the process's: closing any other channel of the file gives it up,
     * so a directory that is held here must not even be tried a second time.
     */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path path;
    private final Path held;
    private final FileChannel lock;

    private DataDirectory(Path path, Path held, FileChannel lock) {
        this.path = path;
        this.held = held;
        this.lock = lock;
    }

    static DataDirectory open(Path path) throws StoreUnusable {
        try {
            if (Files.exists(path) && !Files.isDirectory(path)) {
                throw new StoreUnusable("data directory " + path + " is not a directory; name another with --data-dir");
            }
            OwnerOnly.createDirectories(path);
            refuseStrangers(path);
            for (String file : List.of(LOCK, MARK, MARK + ".new")) {
                EntryKind.requireFile(path.resolve(file));
            }
            EntryKind.requireDirectory(path.resolve(JOURNAL));
            refuseOtherFormat(path);
            return lock(path, path.toRealPath());
        } catch (IOException e) {
            throw new StoreUnusable(
                    "data directory " + path + " cannot be used (" + e + "); check its owner and free space", e);
        }
    }

    private static DataDirectory lock(Path path, Path real) throws IOException, StoreUnusable {
        if (!HELD.add(real)) {
            throw inUse(path);
        }
        boolean locked = false;
        try {
            FileChannel lock =
                    FileChannel.open(path.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            locked = lock.tryLock() != null;
            if (!locked) {
                lock.close();
                throw inUse(path);
            }
            return new DataDirectory(path, real, lock);
        } finally {
            if (!locked) {
                HELD.remove(real);
            }
        }
    }

    private static StoreUnusable inUse(Path path) {
        return new StoreUnusable(
                "data directory " + path + " is in use by another lock server; stop it or use another directory");
    }

    Path journal() {
        return path.resolve(JOURNAL);
    }

    /** Whether a store was once completely made here. */
    boolean isMarked() {
        return isMarked(path);
    }

    static boolean isMarked(Path path) {
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
        List<String> ours = List.of(LOCK, MARK, MARK + ".new", JOURNAL);
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

    /** Once; a second call does nothing. */
    @Override
    public void close() {
        if (!lock.isOpen()) {
            return;
        }
        try {
            lock.close();
        } catch (IOException e) {
            // The process ends; the lock ends with it.
        }
        HELD.remove(held);
    }
}
