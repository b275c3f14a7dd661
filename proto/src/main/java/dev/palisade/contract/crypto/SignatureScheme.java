package dev.palisade.contract.crypto;

import com.google.crypto.tink.Configuration;
import com.google.crypto.tink.Key;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.Mac;
import com.google.crypto.tink.Parameters;
import com.google.crypto.tink.PublicKeySign;
import com.google.crypto.tink.PublicKeyVerify;
import com.google.crypto.tink.mac.HmacParameters;
import com.google.crypto.tink.mac.MacConfig2026;
import com.google.crypto.tink.signature.Ed25519Parameters;
import com.google.crypto.tink.signature.Ed25519PrivateKey;
import com.google.crypto.tink.signature.Ed25519PublicKey;
import com.google.crypto.tink.signature.SignatureConfig2026;
import java.security.GeneralSecurityException;
import org.jspecify.annotations.Nullable;

/**
 * Algorithm of the keys of one keyset, with its parameters fixed. The keys choose it, and never the bytes that are verified: a
 * public key is thus never taken for a secret one. Immutable.
 */
enum SignatureScheme {
    /** HMAC-SHA256: each key that verifies also signs. */
    HMAC(32) {
        @Override
        Configuration configuration() {
            return MacConfig2026.get();
        }

        @Override
        Parameters parameters() throws GeneralSecurityException {
            return HmacParameters.builder()
                    .setKeySizeBytes(HMAC_KEY_BYTES)
                    .setTagSizeBytes(HMAC_KEY_BYTES)
                    .setHashType(HmacParameters.HashType.SHA256)
                    .setVariant(HmacParameters.Variant.TINK)
                    .build();
        }

        @Override
        String promised() {
            return "HMAC-SHA256 with " + HMAC_KEY_BYTES + " bytes of key and of tag and prefix TINK";
        }

        /** Tink opens shorter keys and tags, and tags without a key id: a forger would pick the weakest of a keyset. */
        @Override
        @Nullable
        String weakness(Key key) {
            Parameters parameters = key.getParameters();
            if (!(parameters instanceof HmacParameters hmac)) {
                return parameters.getClass().getSimpleName();
            } else if (hmac.getHashType() != HmacParameters.HashType.SHA256) {
                return "hash " + hmac.getHashType();
            } else if (hmac.getKeySizeBytes() < HMAC_KEY_BYTES) {
                return "a key of " + hmac.getKeySizeBytes() + " bytes";
            } else if (hmac.getCryptographicTagSizeBytes() != HMAC_KEY_BYTES) {
                return "a tag of " + hmac.getCryptographicTagSizeBytes() + " bytes";
            }
            return hmac.getVariant() == HmacParameters.Variant.TINK ? null : "prefix " + hmac.getVariant();
        }

        @Override
        Primitive primitive(KeysetHandle keyset) throws GeneralSecurityException {
            Mac mac = keyset.getPrimitive(configuration(), Mac.class);
            return new Primitive(mac::computeMac, mac::verifyMac);
        }
    },

    /** Ed25519 with the private keys: signs and verifies. */
    ED25519(64) {
        @Override
        @Nullable
        String weakness(Key key) {
            return key instanceof Ed25519PrivateKey ? wrongVariant(key) : typeOf(key);
        }

        @Override
        Primitive primitive(KeysetHandle keyset) throws GeneralSecurityException {
            return new Primitive(
                    keyset.getPrimitive(configuration(), PublicKeySign.class)::sign,
                    ED25519_PUBLIC.primitive(keyset.getPublicKeysetHandle()).verification());
        }
    },

    /** Ed25519 with the public keys only: verifies. */
    ED25519_PUBLIC(64) {
        @Override
        @Nullable
        String weakness(Key key) {
            return key instanceof Ed25519PublicKey ? wrongVariant(key) : typeOf(key);
        }

        @Override
        Primitive primitive(KeysetHandle keyset) throws GeneralSecurityException {
            return new Primitive(
                    data -> {
                        throw new GeneralSecurityException("a public key does not sign");
                    },
                    keyset.getPrimitive(configuration(), PublicKeyVerify.class)::verify);
        }
    };

    private static final int HMAC_KEY_BYTES = 32;

    /** Of Tink's prefix: one byte, and the key id in four. */
    private static final int PREFIX_BYTES = 5;

    private final int signatureBytes;

    SignatureScheme(int signatureBytes) {
        this.signatureBytes = signatureBytes;
    }

    interface Signing {
        byte[] sign(byte[] data) throws GeneralSecurityException;
    }

    interface Verification {
        void verify(byte[] tag, byte[] data) throws GeneralSecurityException;
    }

    /** What the keys of a keyset do. */
    record Primitive(Signing signing, Verification verification) {}

    /** Of a signature with its key prefix, in bytes. */
    int tagBytes() {
        return PREFIX_BYTES + signatureBytes;
    }

    /** Of Tink: the one that knows these keys. */
    Configuration configuration() {
        return SignatureConfig2026.get();
    }

    /** Of a fresh key. */
    Parameters parameters() throws GeneralSecurityException {
        return Ed25519Parameters.create(Ed25519Parameters.Variant.TINK);
    }

    /** Of each key, for people. */
    String promised() {
        return "a " + (this == ED25519 ? "private" : "public") + " key of Ed25519 with prefix TINK";
    }

    /** Why {@code key} is not what {@link #promised} says; null when it is. */
    abstract @Nullable String weakness(Key key);

    abstract Primitive primitive(KeysetHandle keyset) throws GeneralSecurityException;

    private static @Nullable String wrongVariant(Key key) {
        return key.getParameters() instanceof Ed25519Parameters parameters
                        && parameters.getVariant() == Ed25519Parameters.Variant.TINK
                ? null
                : "another prefix";
    }

    private static String typeOf(Key key) {
        return key.getClass().getSimpleName();
    }
}
