package dev.palisade.contract;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * Names one grant for ever: 128 bits that no other grant has, whatever was restored from a backup. With the token it is
 * what a guard compares; two grants never share both. The last five bits count the turns of a grant, each of which is a grant to
 * a guard: a lock server knows only the first, where they are 0.
 *
 * @param high the first eight bytes, big-endian
 * @param low the last eight bytes, big-endian
 */
public record GrantId(long high, long low) {
    /** Length in bytes. */
    public static final int BYTES = 16;

    private static final long TURNS = FencingToken.PER_GRANT - 1;

    /** @throws RejectedException MALFORMED_REQUEST unless {@code bytes} has 16 bytes */
    public static GrantId of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw RejectedException.malformed("grant id has " + bytes.length + " bytes, not " + BYTES);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new GrantId(buffer.getLong(), buffer.getLong());
    }

    /** That of a turn of the grant: 0 is its first. */
    public GrantId turn(int turn) {
        return new GrantId(high, (low & ~TURNS) | turn);
    }

    /** Which turn of its grant this names; 0 for the grant itself. */
    public int turn() {
        return (int) (low & TURNS);
    }

    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
    }

    /** 32 hexadecimal digits. */
    @Override
    public String toString() {
        HexFormat hex = HexFormat.of();
        return hex.toHexDigits(high) + hex.toHexDigits(low);
    }
}
