package dev.palisade.contract.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import io.grpc.Metadata;
import org.junit.jupiter.api.Test;

class SequencerHeaderTest {
    @Test
    void theLatestSequencerReplacesAnyOther() {
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, SignedSequencer.of(new byte[] {1}));
        SequencerHeader.put(headers, SignedSequencer.of(new byte[] {2}));
        assertThat(headers.getAll(SequencerHeader.KEY)).hasSize(1);
        assertThat(SequencerHeader.require(headers)).isEqualTo(SignedSequencer.of(new byte[] {2}));
    }

    @Test
    void aCallWithoutOneIsRefusedAsMissing() {
        assertThatThrownBy(() -> SequencerHeader.require(new Metadata()))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_MISSING));
    }

    @Test
    void anEmptyOneIsInvalidAndNotMissing() {
        Metadata headers = new Metadata();
        headers.put(SequencerHeader.KEY, new byte[0]);
        assertThatThrownBy(() -> SequencerHeader.require(headers))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID));
    }

    @Test
    void twoOfThemAreInvalidWhicheverIsMeant() {
        Metadata headers = new Metadata();
        headers.put(SequencerHeader.KEY, new byte[] {1});
        headers.put(SequencerHeader.KEY, new byte[] {1});
        assertThatThrownBy(() -> SequencerHeader.require(headers))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID));
    }
}
