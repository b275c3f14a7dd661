package dev.palisade.client;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.SequencerHeader;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;

/**
 * An interceptor that sends the sequencer of one lease with every call. It never checks the lease: a hint is not a
 * fence.
 */
record SequencerInterceptor(SignedSequencer sequencer) implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
            @Override
            public void start(Listener<A> listener, Metadata headers) {
                SequencerHeader.put(headers, sequencer);
                super.start(listener, headers);
            }
        };
    }
}
