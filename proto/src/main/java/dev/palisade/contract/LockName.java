package dev.palisade.contract;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;

/**
 * The name of a lock: 1 to 256 bytes of UTF-8 without control characters, compared byte for byte.
 *
 * @param value the name as text
 */
public record LockName(String value) implements Comparable<LockName>, Serializable {
    /** The longest name, in bytes of UTF-8. */
    public static final int BYTES_MAX = 256;

    /** What the names begin with under which guards register. A user's lock has another name. */
    public static final String RESERVED = "palisade/guards/";

    /** @throws RejectedException MALFORMED_REQUEST, naming what is wrong with the name */
    public LockName {
        value = Texts.checked("lock name", value, 1, BYTES_MAX);
    }

    /** Whether this name is one of a guard's registration. */
    public boolean isReserved() {
        return value.startsWith(RESERVED);
    }

    /** The token domain of this name, 0 to 255: CRC-16/XMODEM of its bytes, modulo 256 (protocol, Redis layout). */
    public int domain() {
        int crc = 0;
        for (byte b : value.getBytes(StandardCharsets.UTF_8)) {
            crc ^= (b & 0xff) << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
            }
        }
        return crc & 0xff;
    }

    @Override
    public int compareTo(LockName other) {
        return value.compareTo(other.value);
    }

    @Override
    public String toString() {
        return value;
    }
}
