package dev.palisade.server.store.embedded;

import dev.palisade.server.core.Limits;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.LoggedStore;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** The store of one lock server: a {@link LoggedStore} over a {@link FileLog}. */
public final class EmbeddedStore {
    private EmbeddedStore() {}

    /** Whether a store was once completely made in {@code directory}; says nothing of whether it is usable. */
    public static boolean isBegun(Path directory) {
        return DataDirectory.isMarked(directory);
    }

    /**
     * Opens the store: locks the directory, reads it back, and begins a new epoch of tokens, all durable on return.
     *
     * @param fatal ends the process with one line; called when something could not be made durable
     * @param epochId random
     * @throws StoreUnusable when the directory cannot be used; nothing in it was changed
     */
    public static LoggedStore open(
            EmbeddedConfig config,
            Limits limits,
            LongSupplier wallMillis,
            LongSupplier nanoTime,
            int epochId,
            Consumer<String> fatal)
            throws StoreUnusable {
        try {
            return LoggedStore.open(
                    config.store(),
                    limits,
                    FileLog.open(config, wallMillis, fatal),
                    config.durability() == Durability.PROCESS,
                    nanoTime,
                    epochId,
                    fatal);
        } catch (UncheckedIOException e) {
            throw FileLog.unusable(config.directory(), e);
        }
    }
}
