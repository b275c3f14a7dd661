package dev.palisade.contract.grpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import io.grpc.Metadata;

/** The {@code sequencer-bin} header: how a sequencer travels with a gRPC call. */
public final class SequencerHeader {
    /** The header's key. */
    public static final Metadata.Key<byte[]> KEY = Metadata.Key.of("sequencer-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private SequencerHeader() {}

    /** Puts {@code sequencer} in place of any that is there. */
    public static void put(Metadata headers, SignedSequencer sequencer) {
        headers.discardAll(KEY);
        headers.put(KEY, sequencer.toBytes());
    }

    /** @throws dev.palisade.contract.RejectedException SEQUENCER_MISSING, or SEQUENCER_INVALID when it cannot be one */
    public static SignedSequencer require(Metadata headers) {
        byte[] bytes = headers.get(KEY);
        if (bytes == null) {
            throw new Rejection(
                            Reason.SEQUENCER_MISSING,
                            "the call carries no " + KEY.name() + " header; send it through the lease's interceptor")
                    .asException();
        }
        return SignedSequencer.of(bytes);
    }
}
