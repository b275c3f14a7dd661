package dev.palisade.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.SplittableRandom;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SequencerTest {
    private static final Sequencer SEQUENCER = new Sequencer(
            "palisade",
            new LockName("orders/42"),
            Mode.EXCLUSIVE,
            new FencingToken(34),
            new GrantId(0x0102030405060708L, 0x1112131415161718L),
            1_000);

    /** The layout that every language must read; it never changes within version 1. */
    @Test
    void theLayoutIsFixed() {
        assertThat(HexFormat.of().formatHex(SEQUENCER.toBytes()))
                .isEqualTo("01" + "01" + "0000000000000022" + "01020304050607081112131415161718" + "00000000000003e8"
                        + "08" + "70616c6973616465" + "0009" + "6f72646572732f3432");
    }

    /** Version 2: version 1 with the audience behind the issuer. */
    @Test
    void layoutWithAudienceIsFixed() {
        assertThat(HexFormat.of().formatHex(SEQUENCER.forAudience("payments").toBytes()))
                .isEqualTo("02" + "01" + "0000000000000022" + "01020304050607081112131415161718" + "00000000000003e8"
                        + "08" + "70616c6973616465" + "08" + "7061796d656e7473" + "0009" + "6f72646572732f3432");
    }

    @Test
    void version2WithoutAudienceIsNoSequencer() {
        byte[] bytes = HexFormat.of()
                .parseHex("02" + "01" + "0000000000000022" + "01020304050607081112131415161718" + "00000000000003e8"
                        + "08" + "70616c6973616465" + "00" + "0009" + "6f72646572732f3432");
        assertInvalid(() -> Sequencer.ofBytes(ByteBuffer.wrap(bytes)));
    }

    @Test
    void claimedAudienceIsReadOfAnyBytes() {
        byte[] signed = Arrays.copyOf(SEQUENCER.forAudience("payments").toBytes(), 120);
        assertThat(Sequencer.claimedAudience(signed)).contains("payments");
        assertThat(Sequencer.claimedAudience(SEQUENCER.toBytes())).isEmpty();
        for (int length = 0; length < 52; length++) {
            assertThat(Sequencer.claimedAudience(Arrays.copyOf(signed, length))).isEmpty();
        }
        byte[] unprintable = signed.clone();
        unprintable[44] = '\n';
        assertThat(Sequencer.claimedAudience(unprintable)).isEmpty();
    }

    @Test
    void whatIsWrittenIsReadAgain() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 2_000; i++) {
            Sequencer sequencer = new Sequencer(
                    "i".repeat(1 + random.nextInt(64)),
                    new LockName("鎖".repeat(1 + random.nextInt(85))),
                    random.nextBoolean() ? Mode.SHARED : Mode.EXCLUSIVE,
                    new FencingToken(random.nextLong(1, FencingToken.MAX + 1)),
                    new GrantId(random.nextLong(), random.nextLong()),
                    random.nextLong(),
                    random.nextBoolean() ? Optional.empty() : Optional.of("a".repeat(1 + random.nextInt(64))));
            assertThat(Sequencer.ofBytes(ByteBuffer.wrap(sequencer.toBytes()))).isEqualTo(sequencer);
        }
    }

    @Test
    void theLongestFitsWhenSigned() {
        Sequencer longest = new Sequencer(
                "i".repeat(Sequencer.ISSUER_BYTES_MAX),
                new LockName("x".repeat(LockName.BYTES_MAX)),
                Mode.SHARED,
                new FencingToken(FencingToken.MAX),
                new GrantId(-1, -1),
                Long.MAX_VALUE,
                Optional.of("a".repeat(64)));
        int prefixAndSignatureBytesMax = 5 + 64;
        assertThat(longest.toBytes()).hasSizeLessThan(Sequencer.SIGNED_BYTES_MAX - prefixAndSignatureBytesMax);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void nothingShorterAndNothingLongerIsASequencer(boolean hasAudience) {
        byte[] bytes = (hasAudience ? SEQUENCER.forAudience("payments") : SEQUENCER).toBytes();
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertInvalid(() -> Sequencer.ofBytes(ByteBuffer.wrap(cut)));
        }
        assertInvalid(() -> Sequencer.ofBytes(ByteBuffer.wrap(Arrays.copyOf(bytes, bytes.length + 1))));
    }

    /** Whatever the bytes, they are read as what they say or refused as SEQUENCER_INVALID; nothing else is thrown. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anyBytesAreEitherReadOrRefused(boolean hasAudience) {
        SplittableRandom random = new SplittableRandom(2);
        byte[] good = (hasAudience ? SEQUENCER.forAudience("payments") : SEQUENCER).toBytes();
        int read = 0;
        for (int i = 0; i < 50_000; i++) {
            byte[] bytes;
            if (random.nextInt(4) == 0) {
                bytes = new byte[random.nextInt(80)];
                random.nextBytes(bytes);
            } else {
                bytes = Arrays.copyOf(good, good.length + (random.nextInt(3) == 0 ? random.nextInt(5) - 2 : 0));
                for (int bent = random.nextInt(4); bent >= 0; bent--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
                }
            }
            try {
                Sequencer sequencer = Sequencer.ofBytes(ByteBuffer.wrap(bytes));
                // Bytes that are no UTF-8 are read as U+FFFD.
                assertThat(sequencer.toBytes()).isEqualTo(bytes);
                read++;
            } catch (RejectedException e) {
                assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID);
            }
        }
        assertThat(read).as("bent ones that still are sequencers").isGreaterThan(1_000);
    }

    @Test
    void anIssuerIsTextOfOneTo64Bytes() {
        LockNameTest.assertMalformed(() -> withIssuer(""), "issuer is empty");
        LockNameTest.assertMalformed(() -> withIssuer("x".repeat(65)), "issuer has 65 bytes");
        LockNameTest.assertMalformed(() -> withIssuer("a\nb"), "control character");
    }

    private static Sequencer withIssuer(String issuer) {
        return new Sequencer(issuer, SEQUENCER.lock(), Mode.SHARED, SEQUENCER.token(), SEQUENCER.grant(), 0);
    }

    @Test
    void aSignedOneTravelsAsTextAndAsBytes() {
        SplittableRandom random = new SplittableRandom(3);
        for (int length = 1; length <= Sequencer.SIGNED_BYTES_MAX; length += 7) {
            byte[] bytes = new byte[length];
            random.nextBytes(bytes);
            SignedSequencer signed = SignedSequencer.of(bytes);
            assertThat(SignedSequencer.ofText(signed.toText()))
                    .isEqualTo(signed)
                    .hasSameHashCodeAs(signed);
            assertThat(signed.toText()).matches("[A-Za-z0-9_-]+");
            assertThat(signed.toBytes()).isEqualTo(bytes);
        }
    }

    @Test
    void aSignedOneIsBoundedAndSaysNothingOfItself() {
        assertInvalid(() -> SignedSequencer.of(new byte[0]));
        assertInvalid(() -> SignedSequencer.of(new byte[Sequencer.SIGNED_BYTES_MAX + 1]));
        assertInvalid(() -> SignedSequencer.ofText(""));
        assertInvalid(() -> SignedSequencer.ofText("not base64url!"));
        assertInvalid(() -> SignedSequencer.ofText("A".repeat(1_000_000)));
        assertThat(SignedSequencer.of(new byte[] {1, 2, 3})).hasToString("SignedSequencer(3 bytes)");
    }

    @Test
    void aSignedOneIsACopy() {
        byte[] bytes = {1, 2, 3};
        SignedSequencer signed = SignedSequencer.of(bytes);
        bytes[0] = 9;
        signed.toBytes()[1] = 9;
        assertThat(signed.toBytes()).containsExactly(1, 2, 3);
    }

    private static void assertInvalid(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID));
    }
}
