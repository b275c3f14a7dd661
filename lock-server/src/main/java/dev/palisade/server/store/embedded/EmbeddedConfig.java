package dev.palisade.server.store.embedded;

import dev.palisade.server.store.log.LoggedStoreConfig;
import java.nio.file.Path;

/**
 * @param directory one store, one process
 * @param durability what must have happened before anything is answered
 * @param store bounds
 */
public record EmbeddedConfig(Path directory, Durability durability, LoggedStoreConfig store) {
    public static EmbeddedConfig in(Path directory) {
        return new EmbeddedConfig(directory, Durability.SYNCED, LoggedStoreConfig.DEFAULTS);
    }
}
