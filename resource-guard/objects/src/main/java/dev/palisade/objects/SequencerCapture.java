package dev.palisade.objects;

import dev.palisade.contract.grpc.SequencerHeader;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;

/** Carries the sequencer header to the service, unread: whether it is needed and genuine is decided there. */
final class SequencerCapture implements ServerInterceptor {
    static final Context.Key<byte[]> BYTES = Context.key("palisade-sequencer");

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        byte[] bytes = headers.get(SequencerHeader.KEY);
        Context context = bytes == null ? Context.current() : Context.current().withValue(BYTES, bytes);
        return Contexts.interceptCall(context, call, headers, next);
    }
}
