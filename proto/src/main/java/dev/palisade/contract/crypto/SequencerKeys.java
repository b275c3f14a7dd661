package dev.palisade.contract.crypto;

import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.Key;
import com.google.crypto.tink.KeyStatus;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.signature.Ed25519PublicKey;
import com.google.crypto.tink.signature.SignaturePrivateKey;
import com.google.crypto.tink.signature.SignaturePublicKey;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Keyset that signs and verifies sequencers, by Tink: one primary key that signs, any number that verify. All keys are of one
 * {@link Algorithm}. Immutable, but for remembering what it has verified; rotation makes a new one. A signed sequencer is its
 * bytes followed by Tink's tag, which names the key.
 */
public final class SequencerKeys {
    /** So that a signature made here can never pass for one that the same key made for another purpose. */
    private static final byte[] DOMAIN = "palisade.sequencer.v1\0".getBytes(StandardCharsets.US_ASCII);

    private static final byte[] DOMAIN_WITH_AUDIENCE = "palisade.sequencer.v2\0".getBytes(StandardCharsets.US_ASCII);
    private static final byte VERSION_WITH_AUDIENCE = 2;

    private final SignatureScheme scheme;
    private final KeysetHandle keyset;
    private final SignatureScheme.Primitive primitive;
    private final Verified verified = new Verified();

    /** What keys sign with. */
    public enum Algorithm {
        /** HMAC-SHA256. Each guard with the keyset can sign, too. */
        HMAC,
        /** Ed25519. Guards get the public keys, which only verify. */
        ED25519
    }

    private SequencerKeys(SignatureScheme scheme, KeysetHandle keyset) throws GeneralSecurityException {
        this.scheme = scheme;
        this.keyset = keyset;
        this.primitive = scheme.primitive(keyset);
    }

    /** A keyset with one fresh key of {@link Algorithm#HMAC}. */
    public static SequencerKeys generate() {
        return generate(Algorithm.HMAC);
    }

    /** A keyset with one fresh key. */
    public static SequencerKeys generate(Algorithm algorithm) {
        SignatureScheme scheme = algorithm == Algorithm.HMAC ? SignatureScheme.HMAC : SignatureScheme.ED25519;
        return checked(() -> new SequencerKeys(
                scheme,
                KeysetHandle.newBuilder()
                        .setConfiguration(scheme.configuration())
                        .addEntry(freshEntry(scheme).makePrimary())
                        .build()));
    }

    /**
     * Reads {@link #toJson()}.
     *
     * @throws GeneralSecurityException when the text is not a usable keyset, or one of its keys is neither HMAC-SHA256 with 32
     *     bytes or more of key, 32 of tag, and Tink's prefix, nor Ed25519 with Tink's prefix, as all others are
     */
    public static SequencerKeys ofJson(String json) throws GeneralSecurityException {
        KeysetHandle keyset = parsed(json);
        Key first = keyset.getAt(0).getKey();
        SignatureScheme scheme = first instanceof Ed25519PublicKey
                ? SignatureScheme.ED25519_PUBLIC
                : first instanceof SignaturePrivateKey || first instanceof SignaturePublicKey
                        ? SignatureScheme.ED25519
                        : SignatureScheme.HMAC;
        for (int i = 0; i < keyset.size(); i++) {
            String found = scheme.weakness(keyset.getAt(i).getKey());
            if (found != null) {
                throw new UnfitKeyException("key " + name(keyset.getAt(i).getId()) + " is not " + scheme.promised()
                        + " (it has " + found + ")");
            }
        }
        return new SequencerKeys(scheme, keyset);
    }

    /** Tink's configurations each know keys of one kind; a keyset of several kinds is known to none. */
    private static KeysetHandle parsed(String json) throws GeneralSecurityException {
        try {
            return TinkJsonProtoKeysetFormat.parseKeyset(
                    json, SignatureScheme.HMAC.configuration(), InsecureSecretKeyAccess.get());
        } catch (GeneralSecurityException noMac) {
            return TinkJsonProtoKeysetFormat.parseKeyset(
                    json, SignatureScheme.ED25519.configuration(), InsecureSecretKeyAccess.get());
        }
    }

    /** A key that is weaker than sequencers promise, or of another kind. */
    static final class UnfitKeyException extends GeneralSecurityException {
        private static final long serialVersionUID = 1L;

        private UnfitKeyException(String message) {
            super(message);
        }
    }

    /** What its keys sign with; public keys, what their private halves do. */
    public Algorithm algorithm() {
        return scheme == SignatureScheme.HMAC ? Algorithm.HMAC : Algorithm.ED25519;
    }

    /** Whether it has secrets: false for a keyset of public keys, which only verifies. */
    public boolean canSign() {
        return scheme != SignatureScheme.ED25519_PUBLIC;
    }

    /** The keyset in Tink's JSON format. Secret if it {@link #canSign()}: each reader can sign. */
    public String toJson() {
        return checked(() -> TinkJsonProtoKeysetFormat.serializeKeyset(
                keyset, scheme.configuration(), InsecureSecretKeyAccess.get()));
    }

    /**
     * The public keys, which verify what these sign, and are no secret.
     *
     * @throws IllegalArgumentException for HMAC, whose keys all sign
     */
    public SequencerKeys publicKeys() {
        return switch (scheme) {
            case HMAC ->
                throw new IllegalArgumentException("HMAC keys have no public half: each key that verifies also signs;"
                        + " make a keyset of Ed25519 with palisade keys add --algorithm ed25519");
            case ED25519 ->
                checked(() -> new SequencerKeys(SignatureScheme.ED25519_PUBLIC, keyset.getPublicKeysetHandle()));
            case ED25519_PUBLIC -> this;
        };
    }

    /** Whether some secret key is in both. */
    public boolean sharesSecretWith(SequencerKeys other) {
        return canSign()
                && other.canSign()
                && entries()
                        .anyMatch(one ->
                                other.entries().anyMatch(that -> one.getKey().equalsKey(that.getKey())));
    }

    /**
     * Signs with the primary key. With Ed25519, what differs from a recent one in its time only may be that one.
     *
     * @throws IllegalStateException for public keys
     */
    public SignedSequencer sign(Sequencer sequencer) {
        boolean isDear = scheme != SignatureScheme.HMAC;
        SignedSequencer before = isDear ? verified.signedBefore(sequencer) : null;
        if (before != null) {
            return before;
        }
        byte[] body = sequencer.toBytes();
        byte[] tag = checked(() -> primitive.signing().sign(withDomain(body, body.length)));
        if (isDear) {
            verified.add(body, body.length, tag, sequencer);
        }
        return SignedSequencer.of(
                ByteBuffer.allocate(body.length + tag.length).put(body).put(tag).array());
    }

    /** A verifier that accepts sequencers of this keyset, of {@code issuer} and without an audience, no others. */
    public SequencerVerifier verifier(String issuer) {
        return signed -> verify(signed, issuer, Optional.empty());
    }

    /**
     * A verifier that accepts sequencers of this keyset, of {@code issuer} and for {@code audience}, no others.
     *
     * @throws dev.palisade.contract.RejectedException MALFORMED_REQUEST when no guard group can be called so
     */
    public SequencerVerifier verifier(String issuer, String audience) {
        Optional<String> expected = Optional.of(Sequencer.requireAudience(audience));
        return signed -> verify(signed, issuer, expected);
    }

    Sequencer verify(SignedSequencer signed, String issuer, Optional<String> audience) {
        byte[] bytes = signed.toBytes();
        int bodyLength = bytes.length - scheme.tagBytes();
        if (bodyLength <= 0) {
            throw invalid("it is too short to carry a signature");
        }
        byte[] tag = Arrays.copyOfRange(bytes, bodyLength, bytes.length);
        Sequencer sequencer = verified.find(bytes, bodyLength, tag);
        if (sequencer == null) {
            sequencer = compute(bytes, bodyLength, tag, audience);
            verified.add(bytes, bodyLength, tag, sequencer);
        }
        if (!sequencer.issuer().equals(issuer)) {
            throw invalid("its issuer is '" + sequencer.issuer() + "', this guard accepts '" + issuer + "'");
        }
        if (!sequencer.audience().equals(audience)) {
            throw invalid("it is " + forWhom(sequencer.audience()) + ", this guard accepts those " + forWhom(audience));
        }
        return sequencer;
    }

    private Sequencer compute(byte[] bytes, int bodyLength, byte[] tag, Optional<String> audience) {
        try {
            primitive.verification().verify(tag, withDomain(bytes, bodyLength));
        } catch (GeneralSecurityException e) {
            throw invalid("no key of the keyset made its signature" + claim(bytes, audience));
        }
        return Sequencer.ofBytes(ByteBuffer.wrap(bytes, 0, bodyLength));
    }

    /** What an operator needs most, though anybody may have written it: whether it is meant for other guards. */
    private static String claim(byte[] bytes, Optional<String> audience) {
        Optional<String> claimed = Sequencer.claimedAudience(bytes);
        return claimed.equals(audience)
                ? "; if a key was retired, acquire the lock again"
                : "; it says that it is " + forWhom(claimed) + ", this guard accepts those " + forWhom(audience);
    }

    private static String forWhom(Optional<String> audience) {
        return audience.map(group -> "for audience '" + group + "'").orElse("without audience");
    }

    /** Adds a fresh key that verifies and does not sign yet: give every guard the new keyset, then {@link #promote}. */
    public SequencerKeys withNewKey() {
        return edit(builder -> builder.addEntry(freshEntry(scheme)));
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
        return entries()
                .map(entry -> new KeyInfo(entry.getId(), entry.isPrimary() && canSign()))
                .toList();
    }

    private Stream<KeysetHandle.Entry> entries() {
        return IntStream.range(0, keyset.size())
                .mapToObj(keyset::getAt)
                .filter(entry -> entry.getStatus() == KeyStatus.ENABLED);
    }

    private void requireKnown(int keyId) {
        if (keys().stream().noneMatch(key -> key.id() == keyId)) {
            throw new IllegalArgumentException("no key " + name(keyId) + " in this keyset; see: palisade keys list");
        }
    }

    private static String name(int keyId) {
        return Integer.toUnsignedString(keyId);
    }

    private static KeysetHandle.Builder.Entry freshEntry(SignatureScheme scheme) {
        return checked(() ->
                KeysetHandle.generateEntryFromParameters(scheme.parameters()).withRandomId());
    }

    private SequencerKeys edit(UnaryOperator<KeysetHandle.Builder> change) {
        if (!canSign()) {
            throw new IllegalArgumentException("these are public keys, which are changed by exporting them again"
                    + " from the private ones: palisade keys export-public");
        }
        return checked(() -> new SequencerKeys(
                scheme,
                change.apply(KeysetHandle.newBuilder(keyset).setConfiguration(scheme.configuration()))
                        .build()));
    }

    private static byte[] withDomain(byte[] bytes, int length) {
        byte[] domain = bytes[0] == VERSION_WITH_AUDIENCE ? DOMAIN_WITH_AUDIENCE : DOMAIN;
        byte[] all = new byte[domain.length + length];
        System.arraycopy(domain, 0, all, 0, domain.length);
        System.arraycopy(bytes, 0, all, domain.length, length);
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
            throw new IllegalStateException("this JVM cannot sign or verify sequencers", e);
        }
    }
}
