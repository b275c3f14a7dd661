package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UsedBytesTest {
    private static final int LENGTH = 200_000;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 65_535, 65_536, 65_537, 68_928, 68_929, 134_464, 134_465, LENGTH - 1, LENGTH})
    void countsUpToTheLastByteThatIsNotZero(int used) {
        for (ByteBuffer bytes : new ByteBuffer[] {ByteBuffer.allocate(LENGTH), ByteBuffer.allocateDirect(LENGTH)}) {
            if (used > 0) {
                bytes.put(0, (byte) 1).put(used - 1, (byte) -1);
            }
            bytes.position(LENGTH / 2);
            assertThat(UsedBytes.of(bytes)).isEqualTo(used);
            assertThat(bytes.position()).isEqualTo(LENGTH / 2);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5, 70_000})
    void whatIsBehindTheLimitDoesNotCount(int limit) {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).put(100_000, (byte) 1).limit(limit);
        assertThat(UsedBytes.of(bytes)).isZero();
    }
}
