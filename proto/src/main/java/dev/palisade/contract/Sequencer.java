package dev.palisade.contract;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Proof of a grant, to be sent along with every call the grant protects. Signed by the lock server; a guard believes
 * nothing in it before the signature is verified. The layout is fixed, see {@code docs/reference/sequencer.md}.
 *
 * @param issuer the lock service that granted, 1 to 64 bytes
 * @param lock what was granted
 * @param mode how
 * @param token the grant's fencing token
 * @param grant the grant
 * @param issuedAtMillis when it was signed, milliseconds since 1970 by the server's clock; for people, never compared
 */
public record Sequencer(
        String issuer, LockName lock, Mode mode, FencingToken token, GrantId grant, long issuedAtMillis) {
    /** The longest issuer, in bytes of UTF-8. */
    public static final int ISSUER_BYTES_MAX = 64;

    /** No signed sequencer is longer, in bytes. */
    public static final int SIGNED_BYTES_MAX = 512;

    private static final byte VERSION = 1;
    private static final int FIXED_BYTES = 1 + 1 + 1 + 2 + Long.BYTES + GrantId.BYTES + Long.BYTES;

    /** @throws RejectedException MALFORMED_REQUEST when the issuer is not 1 to 64 bytes of text */
    public Sequencer {
        issuer = Texts.checked("issuer", issuer, 1, ISSUER_BYTES_MAX);
    }

    /** The bytes that are signed. */
    public byte[] toBytes() {
        byte[] issuerBytes = issuer.getBytes(StandardCharsets.UTF_8);
        byte[] lockBytes = lock.value().getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(FIXED_BYTES + issuerBytes.length + lockBytes.length)
                .put(VERSION)
                .put((byte) (mode == Mode.EXCLUSIVE ? 1 : 2))
                .putLong(token.value())
                .putLong(grant.high())
                .putLong(grant.low())
                .putLong(issuedAtMillis)
                .put((byte) issuerBytes.length)
                .put(issuerBytes)
                .putShort((short) lockBytes.length)
                .put(lockBytes)
                .array();
    }

    /**
     * Reads the bytes of {@link #toBytes()} and nothing more, nothing less.
     *
     * @throws RejectedException SEQUENCER_INVALID when they are anything else
     */
    public static Sequencer ofBytes(ByteBuffer bytes) {
        try {
            if (bytes.get() != VERSION) {
                throw invalid("its version is not " + VERSION);
            }
            byte modeByte = bytes.get();
            if (modeByte != 1 && modeByte != 2) {
                throw invalid("its mode is neither 1 nor 2");
            }
            FencingToken token = new FencingToken(bytes.getLong());
            GrantId grant = new GrantId(bytes.getLong(), bytes.getLong());
            long issuedAtMillis = bytes.getLong();
            String issuer = text(bytes, bytes.get() & 0xff);
            String lock = text(bytes, bytes.getShort() & 0xffff);
            if (bytes.hasRemaining()) {
                throw invalid("it has bytes left over");
            }
            Mode mode = modeByte == 1 ? Mode.EXCLUSIVE : Mode.SHARED;
            return new Sequencer(issuer, new LockName(lock), mode, token, grant, issuedAtMillis);
        } catch (BufferUnderflowException e) {
            throw invalid("it is cut short");
        } catch (RejectedException e) {
            throw e.reason() == Reason.SEQUENCER_INVALID
                    ? e
                    : invalid(e.rejection().message());
        }
    }

    private static String text(ByteBuffer bytes, int length) {
        if (length > bytes.remaining()) {
            throw invalid("it is cut short");
        }
        byte[] text = new byte[length];
        bytes.get(text);
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(text))
                    .toString();
        } catch (CharacterCodingException e) {
            throw invalid("its text is not UTF-8");
        }
    }

    private static RejectedException invalid(String why) {
        return new Rejection(Reason.SEQUENCER_INVALID, "not a sequencer: " + why).asException();
    }
}
