package dev.palisade.contract.crypto;

import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Sequencers whose signatures one keyset has verified: a holder sends the same bytes with every call, and what keys that
 * never change have said of them once they would say again. It belongs to one {@link SequencerKeys}: other keys, other
 * memory, so that nothing which a retired key has signed is remembered. Only what was verified or signed gets in.
 *
 * <p>Bounded: of two grants that fall on one slot the later is remembered. Tells nothing by its timing: the slot is chosen
 * by what is signed, which is no secret, and a signature is compared in the same time whatever it is.
 *
 * <p>Safe for use by many threads.
 */
final class Verified {
    private static final int SLOT_BITS = 12;

    /** How many are remembered at most, of some 400 bytes each, 2 KiB at most. */
    static final int SLOTS = 1 << SLOT_BITS;

    /** Where the lower half of the grant id stands in a sequencer. */
    private static final int GRANT_LOW_AT = 18;

    /** Spreads numbers that follow on one another; the golden ratio's 64 bits. */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private static final class Entry {
        final byte[] body;
        final byte[] tag;
        final Sequencer sequencer;

        Entry(byte[] body, byte[] tag, Sequencer sequencer) {
            this.body = body;
            this.tag = tag;
            this.sequencer = sequencer;
        }
    }

    private final AtomicReferenceArray<@Nullable Entry> slots = new AtomicReferenceArray<>(SLOTS);

    /**
     * @param signed begins with a sequencer, and is as long as one at least
     * @param length of the sequencer in it
     * @param tag its signature
     * @return null when these bytes are not remembered
     */
    @Nullable
    Sequencer find(byte[] signed, int length, byte[] tag) {
        Entry entry = slots.get(slot(grantLow(signed)));
        return entry != null
                        && Arrays.equals(signed, 0, length, entry.body, 0, entry.body.length)
                        && MessageDigest.isEqual(tag, entry.tag)
                ? entry.sequencer
                : null;
    }

    /**
     * What was signed for the same grant and handed-on turn before: an offer and its acceptance need one signature.
     *
     * @return its signed bytes; null when they are not remembered
     */
    @Nullable
    SignedSequencer signedBefore(Sequencer sequencer) {
        Entry entry = slots.get(slot(sequencer.grant().low()));
        if (entry == null || !isSameButForTime(entry.sequencer, sequencer)) {
            return null;
        }
        return SignedSequencer.of(ByteBuffer.allocate(entry.body.length + entry.tag.length)
                .put(entry.body)
                .put(entry.tag)
                .array());
    }

    private static boolean isSameButForTime(Sequencer one, Sequencer other) {
        return one.grant().equals(other.grant())
                && one.token().equals(other.token())
                && one.mode() == other.mode()
                && one.lock().equals(other.lock())
                && one.issuer().equals(other.issuer())
                && one.audience().equals(other.audience());
    }

    /** To be found by {@link #find} from now on; {@code tag} was verified, and is never changed afterwards. */
    void add(byte[] signed, int length, byte[] tag, Sequencer sequencer) {
        slots.set(slot(grantLow(signed)), new Entry(Arrays.copyOf(signed, length), tag, sequencer));
    }

    private static long grantLow(byte[] signed) {
        return ByteBuffer.wrap(signed).getLong(GRANT_LOW_AT);
    }

    private static int slot(long grantLow) {
        return (int) ((grantLow * SPREAD) >>> (Long.SIZE - SLOT_BITS));
    }
}
