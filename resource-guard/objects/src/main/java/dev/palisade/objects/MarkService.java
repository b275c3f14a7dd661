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
 * The {@code palisade.v1.Guard} service beside the objects: lets a holder claim before it reads or writes an object, by the
 * name of its lock, and tells marks. The rpc face only; {@link ObjectStore} claims.
 */
final class MarkService extends GuardGrpc.GuardImplBase {
    private final ObjectStore store;
    private final Calls calls;
    private final String issuer;

    MarkService(ObjectStore store, Calls calls, String issuer) {
        this.store = store;
        this.calls = calls;
        this.issuer = issuer;
    }

    @Override
    public void claim(ClaimRequest request, StreamObserver<ClaimReply> observer) {
        calls.answer(
                "claim",
                false,
                observer,
                caller -> ClaimReply.newBuilder()
                        .setMark(told(issuer, store.claimLock(caller, request.getResource())))
                        .build());
    }

    @Override
    public void describeMark(DescribeMarkRequest request, StreamObserver<DescribeMarkReply> observer) {
        calls.answer("describe mark", false, observer, caller -> {
            DescribeMarkReply.Builder reply = DescribeMarkReply.newBuilder();
            store.mark(request.getResource()).ifPresent(marked -> reply.setMark(told(issuer, marked)));
            return reply.build();
        });
    }

    /** The resource is called like its lock. */
    static Mark told(String issuer, ObjectStore.Marked marked) {
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
