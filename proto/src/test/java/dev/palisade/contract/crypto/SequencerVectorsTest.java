package dev.palisade.contract.crypto;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.Key;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.SecretKeyAccess;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.mac.HmacKey;
import com.google.crypto.tink.mac.HmacParameters;
import com.google.crypto.tink.signature.Ed25519Parameters;
import com.google.crypto.tink.signature.Ed25519PrivateKey;
import com.google.crypto.tink.signature.Ed25519PublicKey;
import com.google.crypto.tink.util.Bytes;
import com.google.crypto.tink.util.SecretBytes;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The page for other languages has the bytes that this implementation makes: all its hexadecimal vectors, in their order. */
class SequencerVectorsTest {
    private static final Path PAGE = Path.of("../docs/reference/sequencer.md");
    private static final SecretKeyAccess ACCESS = InsecureSecretKeyAccess.get();
    private static final Sequencer SEQUENCER = new Sequencer(
            "palisade",
            new LockName("orders/42"),
            Mode.EXCLUSIVE,
            new FencingToken(34),
            new GrantId(0x0102030405060708L, 0x1112131415161718L),
            1_000);
    private static final byte[] HMAC =
            HexFormat.of().parseHex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");

    /** Of the first test of RFC 8032. */
    private static final byte[] SEED =
            HexFormat.of().parseHex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");

    private static final byte[] PUBLIC =
            HexFormat.of().parseHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");

    @Test
    void pageHasTheBytesOfEachKind() throws Exception {
        SequencerKeys hmac = keys(
                SignatureScheme.HMAC,
                1,
                HmacKey.builder()
                        .setParameters((HmacParameters) SignatureScheme.HMAC.parameters())
                        .setKeyBytes(SecretBytes.copyFrom(HMAC, ACCESS))
                        .setIdRequirement(1)
                        .build());
        SequencerKeys ed25519 = keys(
                SignatureScheme.ED25519,
                2,
                Ed25519PrivateKey.create(
                        Ed25519PublicKey.create(Ed25519Parameters.Variant.TINK, Bytes.copyFrom(PUBLIC), 2),
                        SecretBytes.copyFrom(SEED, ACCESS)));
        String page = Files.readString(PAGE);
        String vectors = page.substring(page.indexOf("## Test vectors"));
        assertThat(Pattern.compile("```text\n([0-9a-f\n]+)```")
                        .matcher(vectors)
                        .results()
                        .map(vector -> vector.group(1).replace("\n", "")))
                .as("in %s", PAGE)
                .containsExactly(
                        hex(hmac, SEQUENCER),
                        hex(hmac, SEQUENCER.forAudience("payments")),
                        hex(ed25519, SEQUENCER.forAudience("payments")));
        assertThat(vectors)
                .contains(
                        HexFormat.of().formatHex(HMAC),
                        HexFormat.of().formatHex(SEED),
                        HexFormat.of().formatHex(PUBLIC));
    }

    private static String hex(SequencerKeys keys, Sequencer sequencer) {
        return HexFormat.of().formatHex(keys.sign(sequencer).toBytes());
    }

    private static SequencerKeys keys(SignatureScheme scheme, int id, Key key) throws Exception {
        KeysetHandle keyset = KeysetHandle.newBuilder()
                .setConfiguration(scheme.configuration())
                .addEntry(KeysetHandle.importKey(key).withFixedId(id).makePrimary())
                .build();
        return SequencerKeys.ofJson(TinkJsonProtoKeysetFormat.serializeKeyset(keyset, scheme.configuration(), ACCESS));
    }
}
