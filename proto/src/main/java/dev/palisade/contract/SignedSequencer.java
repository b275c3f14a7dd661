package dev.palisade.contract;

import java.util.Arrays;
import java.util.Base64;

/**
 * A sequencer as it travels: opaque bytes to everyone but the lock server that signed them and the guards that verify
 * them. Not verified yet; only a verifier makes a {@link Sequencer} of it.
 */
public final class SignedSequencer {
    private final byte[] bytes;

    private SignedSequencer(byte[] bytes) {
        this.bytes = bytes;
    }

    /** @throws RejectedException SEQUENCER_INVALID when there are none or more than {@link Sequencer#SIGNED_BYTES_MAX} */
    public static SignedSequencer of(byte[] bytes) {
        if (bytes.length == 0 || bytes.length > Sequencer.SIGNED_BYTES_MAX) {
            throw new Rejection(
                            Reason.SEQUENCER_INVALID,
                            "sequencer has " + bytes.length + " bytes, not 1.." + Sequencer.SIGNED_BYTES_MAX)
                    .asException();
        }
        return new SignedSequencer(bytes.clone());
    }

    /** The form for HTTP headers and the environment: base64url without padding. */
    public static SignedSequencer ofText(String text) {
        if (text.length() > Sequencer.SIGNED_BYTES_MAX * 2) {
            throw new Rejection(Reason.SEQUENCER_INVALID, "sequencer text is too long").asException();
        }
        try {
            return of(Base64.getUrlDecoder().decode(text));
        } catch (IllegalArgumentException e) {
            throw new Rejection(Reason.SEQUENCER_INVALID, "sequencer text is not base64url").asException();
        }
    }

    public byte[] toBytes() {
        return bytes.clone();
    }

    public String toText() {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SignedSequencer that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    /** Not the bytes: with them, any caller can act for the holder. */
    @Override
    public String toString() {
        return "SignedSequencer(" + bytes.length + " bytes)";
    }
}
