package dev.palisade.server.store.embedded;

import dev.palisade.contract.files.RecordFile;
import dev.palisade.contract.files.RecordFileReader;
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
        long synced = new SyncWatermark(journal).read();
        for (Path file : JournalTest.logs(journal)) {
            int[] end = {RecordFile.FILE_HEADER_BYTES};
            RecordFileReader.read(file, JournalFiles.KIND, 0, true, (number, body, start) -> {
                if (number <= synced) {
                    end[0] = (int) (start + RecordFile.bytesFor(body.remaining()) - RecordFile.FILE_HEADER_BYTES);
                }
            });
            byte[] bytes = Files.readAllBytes(file);
            Arrays.fill(bytes, end[0], bytes.length, (byte) 0);
            Files.write(file, bytes);
        }
    }

    public static void copy(Path from, Path to) throws IOException {
        JournalTest.copy(from, to);
    }
}
