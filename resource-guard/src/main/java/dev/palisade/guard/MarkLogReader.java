package dev.palisade.guard;

import dev.palisade.contract.files.RecordFileReader;
import dev.palisade.contract.files.RecordFileReader.DamagedException;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** Reads a {@link MarkLog} whole, or says where it is damaged. */
final class MarkLogReader {
    private MarkLogReader() {}

    /**
     * Applies all that {@code file} holds to {@code marks}.
     *
     * @return the number that the next record has
     * @throws DamagedException when it is not as it was written
     */
    static long read(Path file, Marks marks) throws IOException {
        return RecordFileReader.read(file, MarkLog.MAGIC, 0, false, (number, body, start) -> apply(body, start, marks))
                .nextNumber();
    }

    private static void apply(ByteBuffer record, long start, Marks marks) throws DamagedException {
        byte[] bytes = new byte[record.remaining()];
        record.get(bytes);
        DataInputStream body = new DataInputStream(new ByteArrayInputStream(bytes));
        try {
            while (body.available() > 0) {
                marks.apply(ChangeCodec.read(body));
            }
        } catch (IOException | RuntimeException e) {
            throw new DamagedException("a record that holds no marks", start);
        }
    }
}
