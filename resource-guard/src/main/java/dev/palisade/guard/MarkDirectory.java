package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.files.RecordFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A directory that one {@link FileMarkStore} has, by an operating system's lock. Makes it, and never deletes anything. */
final class MarkDirectory implements AutoCloseable {
    static final String LOCK_FILE = "marks.lock";
    private static final Set<String> OWN_FILES = Set.of(LOCK_FILE, MarkLog.FILE, MarkLog.NEXT_FILE);

    /**
     * Held in this process. A process that merely closes another channel on a file gives up its lock on it (POSIX), so a
     * second opener must be turned away before it touches the file.
     */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path held;
    private final FileChannel channel;

    private MarkDirectory(Path held, FileChannel channel) {
        this.held = held;
        this.channel = channel;
    }

    /** @throws RejectedException MARK_UNAVAILABLE: it is no directory, holds other files or is in use */
    static MarkDirectory hold(Path path) throws IOException {
        make(path);
        requirePrivate(path);
        Path real = path.toRealPath();
        if (!HELD.add(real)) {
            throw inUse(path);
        }
        FileChannel channel = null;
        try {
            channel = FileChannel.open(real.resolve(LOCK_FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileLock lock = channel.tryLock();
            if (lock == null) {
                throw inUse(path);
            }
            return new MarkDirectory(real, channel);
        } catch (IOException | RuntimeException e) {
            releaseHeld(real, channel);
            throw e;
        }
    }

    private static RejectedException inUse(Path path) {
        return Unavailable.because("mark directory " + path
                + " is in use by another guard; stop that one first, or name another directory");
    }

    private static void make(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            return;
        }
        try {
            Files.createDirectories(path);
        } catch (FileAlreadyExistsException e) {
            throw Unavailable.because("mark directory " + path + " is not a directory; name one", e);
        }
        RecordFile.syncName(path);
    }

    private static void requirePrivate(Path path) throws IOException {
        try (Stream<Path> entries = Files.list(path)) {
            Optional<String> stranger = entries.map(entry -> entry.getFileName().toString())
                    .filter(name -> !OWN_FILES.contains(name))
                    .sorted()
                    .findFirst();
            if (stranger.isPresent()) {
                throw Unavailable.because("mark directory " + path + " holds other files (" + stranger.get()
                        + "); name one that is empty or was made by a guard");
            }
        }
    }

    private static void releaseHeld(Path real, @Nullable FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            // A lock that cannot be given back ends with the process.
        } finally {
            HELD.remove(real);
        }
    }

    /** Once; a second call does nothing. */
    @Override
    public void close() {
        if (channel.isOpen()) {
            releaseHeld(held, channel);
        }
    }
}
