package dev.palisade.server.store.embedded;

import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Check of what stands under a name in the data directory, before it is opened: reading a pipe waits for its writer, a device
 * may never end, and a directory fails later as if the disk had. Links count as what they lead to.
 */
final class EntryKind {
    private EntryKind() {}

    /** Refuses {@code path} unless it is a file, or nothing is there. */
    static void requireFile(Path path) throws StoreUnusable {
        if (!Files.isRegularFile(path) && isThere(path)) {
            throw refusal(path, "file");
        }
    }

    /** Refuses {@code path} unless it is a directory, or nothing is there. */
    static void requireDirectory(Path path) throws StoreUnusable {
        if (!Files.isDirectory(path) && isThere(path)) {
            throw refusal(path, "directory");
        }
    }

    /** {@link #requireFile} of all that is in {@code directory}. */
    static void requireFilesIn(Path directory) throws IOException, StoreUnusable {
        try (Stream<Path> entries = Files.list(directory)) {
            for (Path entry : entries.sorted().toList()) {
                requireFile(entry);
            }
        }
    }

    private static boolean isThere(Path path) {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }

    private static StoreUnusable refusal(Path path, String wanted) {
        String found = "a pipe, a socket or a device";
        if (!Files.exists(path)) {
            found = "a link to nothing";
        } else if (Files.isDirectory(path)) {
            found = "a directory";
        } else if (Files.isRegularFile(path)) {
            found = "a file";
        }
        return new StoreUnusable(path + " is " + found + " and no " + wanted
                + "; move it away, and restore the data directory from a copy if the " + wanted + " is lost");
    }
}
