package dev.palisade.contract.crypto;

import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.KeyStatus;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.Mac;
import com.google.crypto.tink.Parameters;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.mac.HmacParameters;
import com.google.crypto.tink.mac.MacConfig2026;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * A keyset that signs and verifies sequencers: HMAC-SHA256 by Tink, one primary key that signs, any number that verify.
 * Immutable, but for remembering what it has verified; rotation makes a new one. A signed sequencer is its bytes followed by Tink's tag, which names the key.
 */
public final class SequencerKeys {
    /** So that a tag made here can never pass for one that the same key made for another purpose. */
    private static final byte[] DOMAIN = "palisade.sequencer.v1\0".getBytes(StandardCharsets.US_ASCII);

    private static final int KEY_BYTES = 32;
    private static final int HMAC_BYTES = 32;

    /** Tink's prefix (1 byte, 4 bytes key id) and the whole of HMAC-SHA256. */
    private static final int TAG_BYTES = 5 + HMAC_BYTES;

    private final KeysetHandle keyset;
    private final Mac mac;
    private final Verified verified = new Verified();

    private SequencerKeys(KeysetHandle keyset) throws GeneralSecurityException {
        this.keyset = keyset;
        this.mac = keyset.getPrimitive(MacConfig2026.get(), Mac.class);
    }

    /** A keyset with one fresh key. */
    public static SequencerKeys generate() {
        return checked(() -> {
            return new SequencerKeys(KeysetHandle.newBuilder()
                    .setConfiguration(MacConfig2026.get())
                    .addEntry(freshEntry().makePrimary())
                    .build());
        });
    }

    /**
     * Reads {@link #toJson()}.
     *
     * @throws GeneralSecurityException when the text is not a usable keyset, or one of its keys is not HMAC-SHA256 with 32 bytes
     *     or more of key, 32 of tag, and Tink's prefix
     */
    public static SequencerKeys ofJson(String json) throws GeneralSecurityException {
        KeysetHandle keyset =
                TinkJsonProtoKeysetFormat.parseKeyset(json, MacConfig2026.get(), InsecureSecretKeyAccess.get());
        for (int i = 0; i < keyset.size(); i++) {
            refuseWeak(keyset.getAt(i));
        }
        return new SequencerKeys(keyset);
    }

    /** Tink opens shorter keys and tags, and tags without a key id: a forger would pick the weakest of a keyset. */
    private static void refuseWeak(KeysetHandle.Entry entry) throws UnfitKeyException {
        Parameters parameters = entry.getKey().getParameters();
        String found = null;
        if (!(parameters instanceof HmacParameters hmac)) {
            found = parameters.getClass().getSimpleName();
        } else if (hmac.getHashType() != HmacParameters.HashType.SHA256) {
            found = "hash " + hmac.getHashType();
        } else if (hmac.getKeySizeBytes() < KEY_BYTES) {
            found = "a key of " + hmac.getKeySizeBytes() + " bytes";
        } else if (hmac.getCryptographicTagSizeBytes() != HMAC_BYTES) {
            found = "a tag of " + hmac.getCryptographicTagSizeBytes() + " bytes";
        } else if (hmac.getVariant() != HmacParameters.Variant.TINK) {
            found = "prefix " + hmac.getVariant();
        }
        if (found != null) {
            throw new UnfitKeyException("key " + name(entry.getId()) + " is not HMAC-SHA256 with " + KEY_BYTES
                    + " bytes of key and of tag" + " and prefix TINK (it has " + found + ")");
        }
    }

    /** A key that is weaker than sequencers promise, or of another kind. */
    static final class UnfitKeyException extends GeneralSecurityException {
        private static final long serialVersionUID = 1L;

        private UnfitKeyException(String message) {
            super(message);
        }
    }

    /** The keyset in Tink's JSON format. Secret: whoever reads it can sign. */
    public String toJson() {
        return checked(() ->
                TinkJsonProtoKeysetFormat.serializeKeyset(keyset, MacConfig2026.get(), InsecureSecretKeyAccess.get()));
    }

    /** Signs with the primary key. */
    public SignedSequencer sign(Sequencer sequencer) {
        byte[] body = sequencer.toBytes();
        byte[] tag = checked(() -> mac.computeMac(withDomain(body, body.length)));
        return SignedSequencer.of(
                ByteBuffer.allocate(body.length + tag.length).put(body).put(tag).array());
    }

    /** A verifier that accepts sequencers of this keyset and of {@code issuer}, no others. */
    public SequencerVerifier verifier(String issuer) {
        return signed -> verify(signed, issuer);
    }

    Sequencer verify(SignedSequencer signed, String issuer) {
        byte[] bytes = signed.toBytes();
        int bodyLength = bytes.length - TAG_BYTES;
        if (bodyLength <= 0) {
            throw invalid("it is too short to carry a signature");
        }
        byte[] tag = Arrays.copyOfRange(bytes, bodyLength, bytes.length);
        Sequencer sequencer = verified.find(bytes, bodyLength, tag);
        if (sequencer == null) {
            sequencer = compute(bytes, bodyLength, tag);
            verified.add(bytes, bodyLength, tag, sequencer);
        }
        if (!sequencer.issuer().equals(issuer)) {
            throw invalid("its issuer is '" + sequencer.issuer() + "', this guard accepts '" + issuer + "'");
        }
        return sequencer;
    }

    private Sequencer compute(byte[] bytes, int bodyLength, byte[] tag) {
        try {
            mac.verifyMac(tag, withDomain(bytes, bodyLength));
        } catch (GeneralSecurityException e) {
            throw invalid("no key of this guard made its signature");
        }
        return Sequencer.ofBytes(ByteBuffer.wrap(bytes, 0, bodyLength));
    }

    /** Adds a fresh key that verifies and does not sign yet: give every guard the new keyset, then {@link #promote}. */
    public SequencerKeys withNewKey() {
        return edit(builder -> builder.addEntry(freshEntry()));
    }

    /** Makes {@code keyId} the key that signs. */
    public SequencerKeys promote(int keyId) {
        requireKnown(keyId);
        return edit(builder -> {
            for (int i = 0; i < builder.size(); i++) {
                if (keyset.getAt(i).getId() == keyId) {
                    builder.getAt(i).makePrimary();
                }
            }
            return builder;
        });
    }

    /** Forgets {@code keyId}: what it signed is refused from now on. */
    public SequencerKeys retire(int keyId) {
        requireKnown(keyId);
        if (keyset.getPrimary().getId() == keyId) {
            throw new IllegalArgumentException("key " + name(keyId) + " signs; promote another one first");
        }
        return edit(builder -> {
            for (int i = keyset.size() - 1; i >= 0; i--) {
                if (keyset.getAt(i).getId() == keyId) {
                    builder.deleteAt(i);
                }
            }
            return builder;
        });
    }

    /** A key as an operator sees it. */
    public record KeyInfo(int id, boolean signs) {
        @Override
        public String toString() {
            return name(id) + (signs ? " signs and verifies" : " verifies");
        }
    }

    /** All keys, oldest first. */
    public List<KeyInfo> keys() {
        return java.util.stream.IntStream.range(0, keyset.size())
                .mapToObj(keyset::getAt)
                .filter(entry -> entry.getStatus() == KeyStatus.ENABLED)
                .map(entry -> new KeyInfo(entry.getId(), entry.isPrimary()))
                .toList();
    }

    private void requireKnown(int keyId) {
        if (keys().stream().noneMatch(key -> key.id() == keyId)) {
            throw new IllegalArgumentException("no key " + name(keyId) + " in this keyset; see: palisade keys list");
        }
    }

    private static String name(int keyId) {
        return Integer.toUnsignedString(keyId);
    }

    private static KeysetHandle.Builder.Entry freshEntry() {
        return checked(() -> KeysetHandle.generateEntryFromParameters(HmacParameters.builder()
                        .setKeySizeBytes(KEY_BYTES)
                        .setTagSizeBytes(HMAC_BYTES)
                        .setHashType(HmacParameters.HashType.SHA256)
                        .setVariant(HmacParameters.Variant.TINK)
                        .build())
                .withRandomId());
    }

    private SequencerKeys edit(UnaryOperator<KeysetHandle.Builder> change) {
        return checked(() ->
                new SequencerKeys(change.apply(KeysetHandle.newBuilder(keyset).setConfiguration(MacConfig2026.get()))
                        .build()));
    }

    private static byte[] withDomain(byte[] bytes, int length) {
        byte[] all = new byte[DOMAIN.length + length];
        System.arraycopy(DOMAIN, 0, all, 0, DOMAIN.length);
        System.arraycopy(bytes, 0, all, DOMAIN.length, length);
        return all;
    }

    private static dev.palisade.contract.RejectedException invalid(String why) {
        return new Rejection(Reason.SEQUENCER_INVALID, "sequencer refused: " + why).asException();
    }

    private interface Crypto<T> {
        T run() throws GeneralSecurityException;
    }

    private static <T> T checked(Crypto<T> crypto) {
        try {
            return crypto.run();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JVM lacks HMAC-SHA256", e);
        }
    }
}
