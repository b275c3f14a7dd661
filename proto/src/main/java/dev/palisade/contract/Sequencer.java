package dev.palisade.contract;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Pattern;

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
 * @param audience the guard group that it is for, 1 to 64 letters, digits and {@code . _ -}; empty where the lock belongs to
 *     none. With one, the layout is version 2
 */
public record Sequencer(
        String issuer,
        LockName lock,
        Mode mode,
        FencingToken token,
        GrantId grant,
        long issuedAtMillis,
        Optional<String> audience) {
    /** The longest issuer, in bytes of UTF-8. */
    public static final int ISSUER_BYTES_MAX = 64;

    /** No signed sequencer is longer, in bytes. */
    public static final int SIGNED_BYTES_MAX = 512;

    private static final byte VERSION = 1;
    private static final byte VERSION_WITH_AUDIENCE = 2;
    private static final int FIXED_BYTES = 1 + 1 + 1 + 2 + Long.BYTES + GrantId.BYTES + Long.BYTES;
    private static final int ISSUER_AT = 1 + 1 + Long.BYTES + GrantId.BYTES + Long.BYTES;
    private static final Pattern AUDIENCE = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    /** @throws RejectedException MALFORMED_REQUEST when the issuer is not 1 to 64 bytes of text, or the audience is not one */
    public Sequencer {
        issuer = Texts.checked("issuer", issuer, 1, ISSUER_BYTES_MAX);
        audience.ifPresent(Sequencer::requireAudience);
    }

    /**
     * Without an audience.
     *
     * @throws RejectedException as the other constructor
     */
    public Sequencer(String issuer, LockName lock, Mode mode, FencingToken token, GrantId grant, long issuedAtMillis) {
        this(issuer, lock, mode, token, grant, issuedAtMillis, Optional.empty());
    }

    /**
     * Returns {@code name} if a guard group may be called so: 1 to 64 letters, digits and {@code . _ -}.
     *
     * @throws RejectedException MALFORMED_REQUEST, saying what is wrong and what to do
     */
    public static String requireAudience(String name) {
        if (!AUDIENCE.matcher(name).matches()) {
            throw RejectedException.malformed(
                    "audience is '" + (name.length() > 64 ? name.substring(0, 64) + "..." : name)
                            + "'; use 1 to 64 letters, digits and . _ -");
        }
        return name;
    }

    /**
     * The same for the guards of one group.
     *
     * @throws RejectedException MALFORMED_REQUEST when {@code group} cannot be one
     */
    public Sequencer forAudience(String group) {
        return new Sequencer(issuer, lock, mode, token, grant, issuedAtMillis, Optional.of(group));
    }

    /** The bytes that are signed. */
    public byte[] toBytes() {
        byte[] issuerBytes = issuer.getBytes(StandardCharsets.UTF_8);
        byte[] lockBytes = lock.value().getBytes(StandardCharsets.UTF_8);
        byte[] audienceBytes = audience.orElse("").getBytes(StandardCharsets.US_ASCII);
        int audienceLength = audience.isPresent() ? 1 + audienceBytes.length : 0;
        ByteBuffer bytes = ByteBuffer.allocate(FIXED_BYTES + issuerBytes.length + audienceLength + lockBytes.length)
                .put(audience.isPresent() ? VERSION_WITH_AUDIENCE : VERSION)
                .put((byte) (mode == Mode.EXCLUSIVE ? 1 : 2))
                .putLong(token.value())
                .putLong(grant.high())
                .putLong(grant.low())
                .putLong(issuedAtMillis)
                .put((byte) issuerBytes.length)
                .put(issuerBytes);
        if (audience.isPresent()) {
            bytes.put((byte) audienceBytes.length).put(audienceBytes);
        }
        return bytes.putShort((short) lockBytes.length).put(lockBytes).array();
    }

    /**
     * Reads the bytes of {@link #toBytes()} and nothing more, nothing less.
     *
     * @throws RejectedException SEQUENCER_INVALID when they are anything else
     */
    public static Sequencer ofBytes(ByteBuffer bytes) {
        try {
            byte version = bytes.get();
            if (version != VERSION && version != VERSION_WITH_AUDIENCE) {
                throw invalid("its version is neither " + VERSION + " nor " + VERSION_WITH_AUDIENCE);
            }
            byte modeByte = bytes.get();
            if (modeByte != 1 && modeByte != 2) {
                throw invalid("its mode is neither 1 nor 2");
            }
            FencingToken token = new FencingToken(bytes.getLong());
            GrantId grant = new GrantId(bytes.getLong(), bytes.getLong());
            long issuedAtMillis = bytes.getLong();
            String issuer = text(bytes, bytes.get() & 0xff);
            Optional<String> audience =
                    version == VERSION ? Optional.empty() : Optional.of(text(bytes, bytes.get() & 0xff));
            String lock = text(bytes, bytes.getShort() & 0xffff);
            if (bytes.hasRemaining()) {
                throw invalid("it has bytes left over");
            }
            Mode mode = modeByte == 1 ? Mode.EXCLUSIVE : Mode.SHARED;
            return new Sequencer(issuer, new LockName(lock), mode, token, grant, issuedAtMillis, audience);
        } catch (BufferUnderflowException e) {
            throw invalid("it is cut short");
        } catch (RejectedException e) {
            throw e.reason() == Reason.SEQUENCER_INVALID
                    ? e
                    : invalid(e.rejection().message());
        }
    }

    /**
     * The audience that a signed sequencer claims, read before its signature is verified: it chooses the keys, and proves nothing.
     *
     * @param signed any bytes
     * @return empty for version 1, and for bytes that are no sequencer
     */
    public static Optional<String> claimedAudience(byte[] signed) {
        ByteBuffer bytes = ByteBuffer.wrap(signed);
        try {
            if (bytes.get() != VERSION_WITH_AUDIENCE) {
                return Optional.empty();
            }
            bytes.position(ISSUER_AT);
            text(bytes, bytes.get() & 0xff);
            return Optional.of(requireAudience(text(bytes, bytes.get() & 0xff)));
        } catch (BufferUnderflowException | IllegalArgumentException | RejectedException e) {
            return Optional.empty();
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
