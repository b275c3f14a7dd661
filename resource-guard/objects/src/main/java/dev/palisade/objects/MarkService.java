package dev.palisade.objects;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.ClaimRequest;
import dev.palisade.proto.v1.DescribeMarkReply;
import dev.palisade.proto.v1.DescribeMarkRequest;
import dev.palisade.proto.v1.GuardGrpc;
import dev.palisade.proto.v1.Mark;
import io.grpc.stub.StreamObserver;

/**
 * The {@code palisade.v1.Guard} service beside the objects. A holder claims the lock of an object before it reads or
 * writes it, and clients can read marks. It encodes and decodes only; {@link ObjectStore} claims.
 */
final class MarkService extends GuardGrpc.GuardImplBase {
    private final ObjectStore store;
    private final CallDispatcher dispatcher;
    private final String issuer;

    MarkService(ObjectStore store, CallDispatcher dispatcher, String issuer) {
        this.store = store;
        this.dispatcher = dispatcher;
        this.issuer = issuer;
    }

    @Override
    public void claim(ClaimRequest request, StreamObserver<ClaimReply> observer) {
        dispatcher.dispatch(
                "claim",
                false,
                observer,
                caller -> ClaimReply.newBuilder()
                        .setMark(toProto(issuer, store.claimLock(caller, request.getResource())))
                        .build());
    }

    @Override
    public void describeMark(DescribeMarkRequest request, StreamObserver<DescribeMarkReply> observer) {
        dispatcher.dispatch("describe mark", false, observer, caller -> {
            DescribeMarkReply.Builder reply = DescribeMarkReply.newBuilder();
            store.mark(request.getResource()).ifPresent(marked -> reply.setMark(toProto(issuer, marked)));
            return reply.build();
        });
    }

    /** The name of the resource is the name of its lock. */
    static Mark toProto(String issuer, ObjectStore.Marked marked) {
        GrantId grant = marked.mark().exclusiveGrant();
        return Mark.newBuilder()
                .setResource(marked.lock().value())
                .setIssuer(issuer)
                .setLock(marked.lock().value())
                .setExclusiveToken(marked.mark().exclusiveToken())
                .setExclusiveGrantId(grant == null ? ByteString.EMPTY : ByteString.copyFrom(grant.toBytes()))
                .setSharedToken(marked.mark().sharedToken())
                .build();
    }
}
