package dev.palisade.contract;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Names one client process for its life: 128 random bits the client made itself. Whoever knows it can act for the client, so
 * it is never shown: what people see is its {@link #fingerprint()}.
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

    /** The SHA-256 of the id, 64 hexadecimal digits; it does not tell the id. */
    public String fingerprint() {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(toBytes()));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** What people are shown: the first 8 digits of the {@link #fingerprint()}. Two sessions may share them. */
    public String shortened() {
        return fingerprint().substring(0, 8);
    }

    /** 32 hexadecimal digits. */
    @Override
    public String toString() {
        HexFormat hex = HexFormat.of();
        return hex.toHexDigits(high) + hex.toHexDigits(low);
    }
}
