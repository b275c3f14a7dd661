package dev.palisade.objects;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The directory of one storage process: held by a file lock for the process's life, and marked once its database was made,
 * so that a database that vanished is never mistaken for a first start. Never deletes or resets anything.
 */
final class DataDirectory implements AutoCloseable {
    private static final String LOCK_FILE = "objects.lock";
    private static final String MADE_FILE = "objects.made";
    private static final String DATABASE_FILE = "objects.mv.db";

    /**
     * What this process has locked. The system's file lock is the process's: closing any other channel of the file gives it up,
     * so a directory that is held here must not even be tried a second time.
     */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path path;
    private final Path held;
    private final FileChannel channel;

    private DataDirectory(Path path, Path held, FileChannel channel) {
        this.path = path;
        this.held = held;
        this.channel = channel;
    }

    /** @throws CannotStart in one line, when the directory cannot be used or another process has it */
    static DataDirectory hold(Path path) throws CannotStart {
        if (path.toString().indexOf(';') >= 0) {
            throw new CannotStart("data directory " + path + " holds a ';', which H2 cannot open; use another");
        }
        try {
            OwnerOnly.createDirectories(path);
        } catch (FileAlreadyExistsException e) {
            throw new CannotStart("data directory " + path + " is not a directory; name one with --data-dir");
        } catch (IOException e) {
            throw new CannotStart("data directory " + path + " cannot be made (" + e + "); name a writable one");
        }
        requirePrivate(path);
        return hold(path, StandardOpenOption.CREATE);
    }

    /** Keeps it apart from a lock server's directory, and from other files. */
    private static void requirePrivate(Path path) throws CannotStart {
        try (Stream<Path> entries = Files.list(path)) {
            Optional<String> stranger = entries.map(entry -> entry.getFileName().toString())
                    .filter(name -> !name.startsWith("objects."))
                    .sorted()
                    .findFirst();
            if (stranger.isPresent()) {
                throw new CannotStart("data directory " + path + " holds other files (" + stranger.get()
                        + "); name an empty one with --data-dir");
            }
        } catch (IOException e) {
            throw new CannotStart("data directory " + path + " cannot be read (" + e + "); make it readable");
        }
    }

    /** {@link #hold(Path)} for reading what is there: makes nothing. */
    static DataDirectory holdExisting(Path path) throws CannotStart {
        if (!Files.isRegularFile(path.resolve(DATABASE_FILE))) {
            throw new CannotStart("no object storage in " + path + "; name its directory with --data-dir");
        }
        return hold(path, StandardOpenOption.WRITE);
    }

    private static DataDirectory hold(Path path, StandardOpenOption option) throws CannotStart {
        try {
            return lock(path, path.toRealPath(), option);
        } catch (NoSuchFileException e) {
            throw new CannotStart("data directory " + path + " lacks its " + LOCK_FILE + "; is it the right one?");
        } catch (IOException e) {
            throw new CannotStart("data directory " + path + " cannot be written (" + e + "); make it writable");
        }
    }

    private static DataDirectory lock(Path path, Path real, StandardOpenOption option) throws IOException, CannotStart {
        if (!HELD.add(real)) {
            throw inUse(path);
        }
        boolean locked = false;
        try {
            FileChannel channel = FileChannel.open(path.resolve(LOCK_FILE), option, StandardOpenOption.WRITE);
            locked = channel.tryLock() != null;
            if (!locked) {
                channel.close();
                throw inUse(path);
            }
            return new DataDirectory(path, real, channel);
        } finally {
            if (!locked) {
                HELD.remove(real);
            }
        }
    }

    private static CannotStart inUse(Path path) {
        return new CannotStart("data directory " + path + " is in use by another process; stop it first");
    }

    /**
     * Takes the database file, where there is one, from others. A file that H2 makes now is open to them until
     * {@link #markMade()}, and has no objects yet.
     *
     * @throws CannotStart when others can use a file that is not this user's to change
     */
    void restrict() throws CannotStart {
        Path database = path.resolve(DATABASE_FILE);
        try {
            if (Files.exists(database)) {
                OwnerOnly.restrict(database);
            }
        } catch (IOException e) {
            throw new CannotStart("database file " + e.getMessage());
        }
    }

    /** The shipped URL: every commit is on disk before it is answered, and the process closes the database itself. */
    String jdbcUrl() {
        return "jdbc:h2:file:" + path.toAbsolutePath() + "/objects;WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE";
    }

    /** The same database, for reading only. */
    String jdbcUrlReadOnly() {
        return "jdbc:h2:file:" + path.toAbsolutePath() + "/objects;ACCESS_MODE_DATA=r;IFEXISTS=TRUE";
    }

    /** @throws CannotStart when a database was made here once and is gone or empty: its marks are lost with it */
    void refuseIfLost() throws CannotStart {
        Path database = path.resolve(DATABASE_FILE);
        try {
            boolean there = Files.exists(database) && Files.size(database) > 0;
            if (!there && (Files.exists(path.resolve(MADE_FILE)) || Files.exists(database))) {
                throw new CannotStart("database file " + database
                        + " is missing or empty: objects and marks are lost; restore it from a good copy, or start with"
                        + " another directory");
            }
        } catch (IOException e) {
            throw new CannotStart("database file " + database + " cannot be read (" + e + "); make it readable");
        }
    }

    /** From now on a missing database is a loss, not a first start. */
    void markMade() throws CannotStart {
        restrict();
        try {
            if (!Files.exists(path.resolve(MADE_FILE))) {
                Files.createFile(path.resolve(MADE_FILE));
            }
        } catch (IOException e) {
            throw new CannotStart("data directory " + path + " cannot be written (" + e + "); make it writable");
        }
    }

    /** Once; a second call does nothing. */
    @Override
    public void close() throws IOException {
        if (channel.isOpen()) {
            channel.close();
            HELD.remove(held);
        }
    }
}
