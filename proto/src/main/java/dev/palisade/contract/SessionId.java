package dev.palisade.contract;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * Names one client process for its life: 128 random bits the client made itself.
 *
 * @param high the first eight bytes, big-endian
 * @param low the last eight bytes, big-endian
 */
public record SessionId(long high, long low) {
    /** Length in bytes. */
    public static final int BYTES = 16;

    /** @throws RejectedException MALFORMED_REQUEST unless {@code bytes} has 16 bytes that are not all zero */
    public static SessionId of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw RejectedException.malformed(
                    "session id has " + bytes.length + " bytes, not " + BYTES + "; send " + BYTES + " random bytes");
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        SessionId id = new SessionId(buffer.getLong(), buffer.getLong());
        if (id.high == 0 && id.low == 0) {
            throw RejectedException.malformed("session id is all zero; send " + BYTES + " random bytes");
        }
        return id;
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
