package dev.palisade.server.store.embedded;

import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Opens the log of an embedded store for tests of other packages. */
public final class Journals {
    private Journals() {}

    public static FencedLog open(Path directory) throws StoreUnusable {
        return FileLog.open(EmbeddedConfig.in(directory), () -> 0, why -> {
            throw new AssertionError(why);
        });
    }

    /** What a stop of the machine leaves of the closed or running store in {@code directory} whose files were copied. */
    public static void forgetWhatWasNotSynced(Path directory) throws Exception {
        Path journal = directory.resolve("journal");
        SyncWatermark.Position synced = new SyncWatermark(journal).read().orElseThrow();
        Path file = journal.resolve(synced.file());
        byte[] bytes = Files.readAllBytes(file);
        Arrays.fill(bytes, (int) synced.bytes(), bytes.length, (byte) 0);
        Files.write(file, bytes);
    }

    public static void copy(Path from, Path to) throws IOException {
        JournalTest.copy(from, to);
    }
}
