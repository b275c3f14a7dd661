package dev.palisade.server.store.embedded;

import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The log of one process in files: a {@link Journal} in a {@link DataDirectory} that no other process can open. Used by one thread
 * at a time.
 */
final class FileLog extends Journal implements FencedLog {
    private final Path path;
    private final DataDirectory directory;
    private final LongSupplier wallMillis;
    private final boolean begun;
    private boolean marked;

    private FileLog(EmbeddedConfig config, DataDirectory directory, LongSupplier wallMillis, Consumer<String> fatal)
            throws IOException {
        super(directory.journal(), config.durability(), fatal);
        this.wallMillis = wallMillis;
        this.path = config.directory();
        this.directory = directory;
        this.begun = directory.isMarked();
        this.marked = begun;
    }

    /**
     * Opens the log and locks its directory.
     *
     * @param fatal ends the process with one line; called when something could not be made durable
     * @throws StoreUnusable when the directory cannot be used; nothing in it was changed
     */
    static FileLog open(EmbeddedConfig config, LongSupplier wallMillis, Consumer<String> fatal) throws StoreUnusable {
        DataDirectory directory = DataDirectory.open(config.directory());
        boolean opened = false;
        try {
            if (directory.isMarked() && !directory.hasJournal()) {
                throw lost(config.directory());
            }
            FileLog log = new FileLog(config, directory, wallMillis, fatal);
            opened = true;
            return log;
        } catch (IOException e) {
            throw unusable(config.directory(), e);
        } finally {
            if (!opened) {
                directory.close();
            }
        }
    }

    static StoreUnusable unusable(Path path, Exception e) {
        return new StoreUnusable(
                "data directory " + path + " cannot be used (" + e + "); check its owner and free space", e);
    }

    @Override
    public String kind() {
        return "embedded";
    }

    @Override
    public String where() {
        return path.toAbsolutePath().normalize().toString();
    }

    @Override
    public void damaged() throws StoreUnusable {
        throw lost(path);
    }

    private static StoreUnusable lost(Path path) {
        return new StoreUnusable("data directory " + path
                + " has lost its journal; restore it from a copy (starting empty would forget who holds what)");
    }

    @Override
    public boolean isBegun() {
        return begun;
    }

    @Override
    public boolean isShared() {
        return false;
    }

    /** The directory is locked, so there is no other claim. */
    @Override
    public ClaimReply claim(Past past) {
        return new ClaimReply.Claimed(WriterId.NONE, false, true, Position.NONE, 0, 0, 1, wallMillis.getAsLong());
    }

    @Override
    public void endClaim() {}

    @Override
    public void sync(long tokens) {
        sync();
        if (!marked) {
            mark();
        }
    }

    /** Only after the first sync: a directory without the mark may be begun again. */
    private void mark() {
        try {
            directory.mark();
            marked = true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            super.close();
        } finally {
            directory.close();
        }
    }
}
