package dev.palisade.objects;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.ClaimObjectRequest;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.DeleteObjectReply;
import dev.palisade.proto.v1.DeleteObjectRequest;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ListObjectsReply;
import dev.palisade.proto.v1.ListObjectsRequest;
import dev.palisade.proto.v1.ObjectEntry;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectReply;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.stub.StreamObserver;
import java.util.OptionalLong;

/**
 * The rpc service of the objects in an {@link ObjectStore}: decodes and encodes. Never accesses the database itself.
 */
final class ObjectsService extends ObjectsGrpc.ObjectsImplBase {
    private final ObjectStore store;
    private final CallDispatcher dispatcher;
    private final String issuer;

    ObjectsService(ObjectStore store, CallDispatcher dispatcher, String issuer) {
        this.store = store;
        this.dispatcher = dispatcher;
        this.issuer = issuer;
    }

    @Override
    public void put(PutObjectRequest request, StreamObserver<PutObjectReply> observer) {
        dispatcher.dispatch("put", true, observer, caller -> {
            ObjectStore.Written written = store.put(
                    caller,
                    request.getKey(),
                    request.getContent().toByteArray(),
                    request.hasIfVersion() ? OptionalLong.of(request.getIfVersion()) : OptionalLong.empty());
            return PutObjectReply.newBuilder()
                    .setApplied(written.applied())
                    .setVersion(written.version())
                    .build();
        });
    }

    @Override
    public void get(GetObjectRequest request, StreamObserver<GetObjectReply> observer) {
        dispatcher.dispatch(
                "get",
                false,
                observer,
                caller -> store.get(caller, request.getKey(), request.getUnfenced())
                        .map(object -> GetObjectReply.newBuilder()
                                .setFound(true)
                                .setContent(object.content())
                                .setVersion(object.version())
                                .setToken(object.token())
                                .setGrantId(ByteString.copyFrom(AppliedLog.grantBytes(object.grantHex())))
                                .build())
                        .orElse(GetObjectReply.getDefaultInstance()));
    }

    @Override
    public void delete(DeleteObjectRequest request, StreamObserver<DeleteObjectReply> observer) {
        dispatcher.dispatch("delete", true, observer, caller -> {
            ObjectStore.Written written = store.delete(
                    caller,
                    request.getKey(),
                    request.hasIfVersion() ? OptionalLong.of(request.getIfVersion()) : OptionalLong.empty());
            return DeleteObjectReply.newBuilder()
                    .setApplied(written.applied())
                    .setVersion(written.version())
                    .build();
        });
    }

    @Override
    public void list(ListObjectsRequest request, StreamObserver<ListObjectsReply> observer) {
        dispatcher.dispatch("list", false, observer, caller -> {
            ObjectStore.Page page = store.list(
                    caller, request.getPrefix(), request.getPageSize(), request.getPageToken(), request.getUnfenced());
            ListObjectsReply.Builder reply = ListObjectsReply.newBuilder().setNextPageToken(page.nextPageToken());
            for (StoredObject object : page.objects()) {
                reply.addObjects(ObjectEntry.newBuilder()
                        .setKey(object.key())
                        .setVersion(object.version())
                        .setSizeBytes(object.sizeBytes())
                        .setToken(object.token()));
            }
            return reply.build();
        });
    }

    @Override
    public void claim(ClaimObjectRequest request, StreamObserver<ClaimReply> observer) {
        dispatcher.dispatch(
                "claim",
                false,
                observer,
                caller -> ClaimReply.newBuilder()
                        .setMark(MarkService.toProto(issuer, store.claim(caller, request.getKey())))
                        .build());
    }
}
