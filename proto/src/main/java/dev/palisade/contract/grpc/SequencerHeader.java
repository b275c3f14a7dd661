package dev.palisade.contract.grpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import io.grpc.Metadata;
import java.util.Iterator;

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

    /**
     * @throws dev.palisade.contract.RejectedException SEQUENCER_MISSING, or SEQUENCER_INVALID when there are several or it
     *     cannot be one
     */
    public static SignedSequencer require(Metadata headers) {
        Iterable<byte[]> all = headers.getAll(KEY);
        if (all == null) {
            throw new Rejection(
                            Reason.SEQUENCER_MISSING,
                            "the call carries no " + KEY.name() + " header; call it through lease.attach(stub)")
                    .asException();
        }
        Iterator<byte[]> each = all.iterator();
        byte[] bytes = each.next();
        if (each.hasNext()) {
            throw new Rejection(
                            Reason.SEQUENCER_INVALID,
                            "the call carries several " + KEY.name()
                                    + " headers; send the one of the lease it works under")
                    .asException();
        }
        return SignedSequencer.of(bytes);
    }
}
