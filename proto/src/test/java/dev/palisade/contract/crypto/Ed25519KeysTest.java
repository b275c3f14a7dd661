package dev.palisade.contract.crypto;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.SecretKeyAccess;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.mac.HmacKey;
import com.google.crypto.tink.mac.HmacParameters;
import com.google.crypto.tink.mac.MacConfig2026;
import com.google.crypto.tink.signature.EcdsaParameters;
import com.google.crypto.tink.signature.Ed25519Parameters;
import com.google.crypto.tink.signature.Ed25519PublicKey;
import com.google.crypto.tink.signature.SignatureConfig2026;
import com.google.crypto.tink.signature.SignatureParameters;
import com.google.crypto.tink.util.SecretBytes;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys.Algorithm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys whose public halves verify and do not sign. */
class Ed25519KeysTest {
    private static final Sequencer SEQUENCER = new Sequencer(
            "palisade", new LockName("orders/42"), Mode.EXCLUSIVE, new FencingToken(34), new GrantId(1, 2), 1_000);
    private static final SecretKeyAccess ACCESS = InsecureSecretKeyAccess.get();

    private final SequencerKeys keys = SequencerKeys.generate(Algorithm.ED25519);

    @TempDir
    Path directory;

    @Test
    void publicKeysVerifyWhatThePrivateOnesSign() throws Exception {
        SequencerKeys exported = SequencerKeys.ofJson(keys.publicKeys().toJson());
        assertThat(exported.canSign()).isFalse();
        assertThat(exported.verifier("palisade").verify(keys.sign(SEQUENCER))).isEqualTo(SEQUENCER);
        assertThat(exported.keys())
                .extracting(Object::toString)
                .containsExactly(Integer.toUnsignedString(idOf(keys, 0)) + " verifies");
        assertThat(exported.publicKeys().toJson()).isEqualTo(exported.toJson());
    }

    /** All that a guard has: nothing in it signs, and nothing in it is secret. */
    @Test
    void publicKeysDoNotSign() throws Exception {
        SequencerKeys exported = keys.publicKeys();
        assertThatThrownBy(() -> exported.sign(SEQUENCER)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(exported::withNewKey).hasMessageContaining("palisade keys export-public");
        assertThat(TinkJsonProtoKeysetFormat.parseKeysetWithoutSecret(exported.toJson(), SignatureConfig2026.get())
                        .size())
                .isEqualTo(1);
    }

    @Test
    void rotationNeverLeavesAMomentInWhichAGenuineSequencerIsRefused() {
        SequencerKeys added = keys.withNewKey();
        SequencerKeys promoted = added.promote(idOf(added, 1));
        SequencerVerifier guard = added.publicKeys().verifier("palisade");
        assertThat(guard.verify(keys.sign(SEQUENCER))).isEqualTo(SEQUENCER);
        assertThat(guard.verify(promoted.sign(SEQUENCER))).isEqualTo(SEQUENCER);
        SequencerVerifier retired = promoted.retire(idOf(added, 0)).publicKeys().verifier("palisade");
        assertThat(retired.verify(promoted.sign(SEQUENCER))).isEqualTo(SEQUENCER);
        assertRefused(() -> retired.verify(keys.sign(SEQUENCER)));
    }

    @Test
    void hmacHasNoPublicHalf() {
        assertThatThrownBy(() -> SequencerKeys.generate().publicKeys())
                .hasMessageContaining("each key that verifies also signs")
                .hasMessageContaining("--algorithm ed25519");
    }

    /** The attack on verifiers that let the message choose the algorithm: everybody has the public key's bytes. */
    @Test
    void publicKeyUsedAsHmacKeyIsRefused() throws Exception {
        KeysetHandle exported =
                TinkJsonProtoKeysetFormat.parseKeyset(keys.publicKeys().toJson(), SignatureConfig2026.get(), ACCESS);
        byte[] known = ((Ed25519PublicKey) exported.getAt(0).getKey())
                .getPublicKeyBytes()
                .toByteArray();
        int id = exported.getAt(0).getId();
        KeysetHandle forger = KeysetHandle.newBuilder()
                .setConfiguration(MacConfig2026.get())
                .addEntry(KeysetHandle.importKey(HmacKey.builder()
                                .setParameters((HmacParameters) SignatureScheme.HMAC.parameters())
                                .setKeyBytes(SecretBytes.copyFrom(known, ACCESS))
                                .setIdRequirement(id)
                                .build())
                        .withFixedId(id)
                        .makePrimary())
                .build();
        SignedSequencer forged = SequencerKeys.ofJson(
                        TinkJsonProtoKeysetFormat.serializeKeyset(forger, MacConfig2026.get(), ACCESS))
                .sign(SEQUENCER);
        assertRefused(() -> keys.publicKeys().verifier("palisade").verify(forged));
        assertRefused(() -> keys.verifier("palisade").verify(forged));
    }

    @Test
    void keyOfAnotherTypeOrPrefixIsRefused() throws Exception {
        EcdsaParameters ecdsa = EcdsaParameters.builder()
                .setSignatureEncoding(EcdsaParameters.SignatureEncoding.DER)
                .setCurveType(EcdsaParameters.CurveType.NIST_P256)
                .setHashType(EcdsaParameters.HashType.SHA256)
                .setVariant(EcdsaParameters.Variant.TINK)
                .build();
        assertUnfit(json(ecdsa), "(it has EcdsaPrivateKey)");
        assertUnfit(json(Ed25519Parameters.create(Ed25519Parameters.Variant.NO_PREFIX)), "(it has another prefix)");
        assertUnfit(json(Ed25519Parameters.create(Ed25519Parameters.Variant.CRUNCHY)), "(it has another prefix)");
    }

    /** As when somebody pastes an HMAC key beside: its guards could sign again. */
    @Test
    void keysetOfTwoKindsIsRefused() {
        String ed25519 = keys.toJson();
        String hmac = SequencerKeys.generate().toJson();
        String key = hmac.substring(hmac.indexOf("\"key\":[") + 7, hmac.lastIndexOf("]"));
        String both = ed25519.replace("\"key\":[", "\"key\":[" + key + ",");
        assertThatThrownBy(() -> SequencerKeys.ofJson(both)).isInstanceOf(java.security.GeneralSecurityException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-r--r--", "r--r--r--", "rwxr-xr-x", "rw-------"})
    void publicKeysMayBeReadByAll(String permissions) throws Exception {
        Path path = exported(permissions);
        assertThat(KeysetFile.open(path).verifier("palisade").verify(keys.sign(SEQUENCER)))
                .isEqualTo(SEQUENCER);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-rw-r--", "rw-r--rw-"})
    void publicKeysThatOthersCanChangeAreRefused(String permissions) throws Exception {
        Path path = exported(permissions);
        assertThatThrownBy(() -> KeysetFile.open(path))
                .isInstanceOf(IOException.class)
                .hasMessage("public keyset " + path + " can be changed by others (" + permissions
                        + "), who could add keys of their own: chmod 644 it");
    }

    @Test
    void privateKeysThatOthersCanReadAreRefused() throws Exception {
        Path path = Files.writeString(directory.resolve("private.json"), keys.toJson());
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r--r--"));
        assertThatThrownBy(() -> KeysetFile.open(path)).hasMessageContaining("chmod 600 it");
    }

    @Test
    void lockServerRefusesPublicKeys() throws Exception {
        Path path = exported("rw-r--r--");
        String refusal =
                "signing keyset " + path + " has public keys only, which verify and do not sign; name the keyset"
                        + " that they were exported from";
        assertThatThrownBy(() -> KeysetFile.openToSign(path))
                .isInstanceOf(IOException.class)
                .hasMessage(refusal);
        assertThatThrownBy(() -> KeysetFile.openOrCreate(path)).hasMessage(refusal);
    }

    /** Works, so that nothing stops; the log says what it gives away. */
    @Test
    void guardWithPrivateKeysIsWarned() throws Exception {
        Path path = directory.resolve("private.json");
        KeysetFile.openOrCreate(path, Algorithm.ED25519);
        List<String> lines = new ArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(java.text.MessageFormat.format(line.getMessage(), line.getParameters()));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger log = Logger.getLogger(KeysetFile.class.getName());
        log.addHandler(handler);
        try {
            KeysetFile.openToSign(path).verifier("palisade");
            KeysetFile.open(exported("rw-r--r--")).verifier("palisade");
            assertThat(lines).isEmpty();
            KeysetFile.open(path).verifier("palisade");
            assertThat(lines)
                    .singleElement()
                    .asString()
                    .contains(path + " has private keys, so this guard could sign", "palisade keys export-public");
        } finally {
            log.removeHandler(handler);
        }
    }

    /** An offer, its acceptance and each repetition of the answer: one signature, which is the dear part. */
    @Test
    void sameGrantIsSignedOnce() {
        SignedSequencer first = keys.sign(SEQUENCER);
        assertThat(keys.sign(at(2_000, SEQUENCER.grant(), 34, "orders/42"))).isEqualTo(first);
        for (Sequencer other : List.of(
                at(1_000, new GrantId(9, 2), 34, "orders/42"),
                at(1_000, SEQUENCER.grant(), 35, "orders/42"),
                at(1_000, SEQUENCER.grant(), 34, "orders/43"),
                SEQUENCER.forAudience("payments"))) {
            keys.sign(SEQUENCER);
            assertThat(keys.publicKeys()
                            .verifier("palisade")
                            .or(keys.verifier("palisade", "payments"))
                            .verify(keys.sign(other)))
                    .isEqualTo(other);
        }
    }

    private static Sequencer at(long millis, GrantId grant, long token, String lock) {
        return new Sequencer("palisade", new LockName(lock), Mode.EXCLUSIVE, new FencingToken(token), grant, millis);
    }

    private Path exported(String permissions) throws IOException {
        Path path = Files.writeString(
                directory.resolve("public.json"), keys.publicKeys().toJson());
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
        return path;
    }

    private static String json(SignatureParameters parameters) throws Exception {
        KeysetHandle keyset = KeysetHandle.newBuilder()
                .setConfiguration(SignatureConfig2026.get())
                .addEntry(KeysetHandle.generateEntryFromParameters(parameters)
                        .withFixedId(77)
                        .makePrimary())
                .build();
        return TinkJsonProtoKeysetFormat.serializeKeyset(keyset, SignatureConfig2026.get(), ACCESS);
    }

    private static void assertUnfit(String json, String found) {
        assertThatThrownBy(() -> SequencerKeys.ofJson(json))
                .hasMessage("key 77 is not a private key of Ed25519 with prefix TINK " + found);
    }

    private static int idOf(SequencerKeys keys, int index) {
        return keys.keys().get(index).id();
    }

    private static void assertRefused(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID));
    }
}
