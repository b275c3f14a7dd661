package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UsedBytesTest {
    private static final int BLOCK = 1 << 18;
    private static final int LENGTH = 700_000;

    @TempDir
    Path folder;

    /** Both sides of each block's edges, counted from the end. */
    @ParameterizedTest
    @ValueSource(
            ints = {
                0,
                1,
                7,
                LENGTH - 2 * BLOCK,
                LENGTH - 2 * BLOCK + 1,
                LENGTH - BLOCK - 1,
                LENGTH - BLOCK,
                LENGTH - BLOCK + 1,
                LENGTH - 1,
                LENGTH
            })
    void countsUpToTheLastByteThatIsNotZero(int used) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH);
        if (used > 0) {
            bytes.put(0, (byte) 1).put(used - 1, (byte) -1);
        }
        assertThat(usedOf(bytes)).isEqualTo(used);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, BLOCK - 1, BLOCK, BLOCK + 1})
    void aFileOfAnyLength(int length) throws IOException {
        assertThat(usedOf(ByteBuffer.allocate(length))).isZero();
        if (length > 0) {
            assertThat(usedOf(ByteBuffer.allocate(length).put(0, (byte) 1))).isOne();
        }
    }

    private int usedOf(ByteBuffer bytes) throws IOException {
        try (FileChannel file = FileChannel.open(
                folder.resolve("file"),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            file.write(bytes.clear());
            return UsedBytes.of(file);
        }
    }
}
