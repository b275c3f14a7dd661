package dev.palisade.guard.objects;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.ClaimObjectRequest;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.DeleteObjectReply;
import dev.palisade.proto.v1.DeleteObjectRequest;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ListObjectsReply;
import dev.palisade.proto.v1.ListObjectsRequest;
import dev.palisade.proto.v1.Mark;
import dev.palisade.proto.v1.ObjectEntry;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectReply;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rpc face of {@link ObjectStore}: decode, submit, answer. Starts nothing for a call that was cancelled or whose deadline
 * has passed, and never answers a bare UNKNOWN.
 */
final class ObjectsService extends ObjectsGrpc.ObjectsImplBase {
    private static final Logger log = LoggerFactory.getLogger(ObjectsService.class);
    private static final Duration NO_DEADLINE = Duration.ofHours(1);

    private final ObjectStore store;
    private final BoundedExecutor executor;
    private final String issuer;

    ObjectsService(ObjectStore store, BoundedExecutor executor, String issuer) {
        this.store = store;
        this.executor = executor;
        this.issuer = issuer;
    }

    @Override
    public void put(PutObjectRequest request, StreamObserver<PutObjectReply> observer) {
        answer("put", true, observer, caller -> {
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
        answer(
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
        answer("delete", true, observer, caller -> {
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
        answer("list", false, observer, caller -> {
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
        answer("claim", false, observer, caller -> {
            ObjectStore.Claimed claimed = store.claim(caller, request.getKey());
            GrantId grant = claimed.mark().exclusiveGrant();
            return ClaimReply.newBuilder()
                    .setMark(Mark.newBuilder()
                            .setResource(claimed.lock().value())
                            .setIssuer(issuer)
                            .setLock(claimed.lock().value())
                            .setExclusiveToken(claimed.mark().exclusiveToken())
                            .setExclusiveGrantId(
                                    grant == null ? ByteString.EMPTY : ByteString.copyFrom(grant.toBytes()))
                            .setSharedToken(claimed.mark().sharedToken()))
                    .build();
        });
    }

    private interface Call<R> {
        R run(ObjectStore.Caller caller) throws SQLException;
    }

    private <R> void answer(String verb, boolean writes, StreamObserver<R> observer, Call<R> call) {
        ServerCallStreamObserver<R> reply = (ServerCallStreamObserver<R>) observer;
        // With a handler in place, answering a cancelled call is a no-op instead of an exception.
        reply.setOnCancelHandler(() -> {});
        Context context = Context.current();
        byte @Nullable [] header = SequencerCapture.BYTES.get(context);
        try {
            executor.submit(() -> run(verb, writes, reply, call, context, header));
        } catch (RejectedException e) {
            reply.onError(Rejections.toStatus(e.rejection()));
        }
    }

    private static <R> void run(
            String verb,
            boolean writes,
            ServerCallStreamObserver<R> reply,
            Call<R> call,
            Context context,
            byte @Nullable [] header) {
        R answer;
        try {
            Deadline deadline = context.getDeadline();
            Duration patience =
                    deadline == null ? NO_DEADLINE : Duration.ofMillis(deadline.timeRemaining(TimeUnit.MILLISECONDS));
            if (reply.isCancelled() || context.isCancelled() || patience.toMillis() < 1) {
                reply.onError(Status.CANCELLED
                        .withDescription("cancelled before it was started; not applied")
                        .asRuntimeException());
                return;
            }
            SignedSequencer signed = header == null ? null : SignedSequencer.of(header);
            answer = call.run(new ObjectStore.Caller(signed, patience));
        } catch (RejectedException e) {
            reply.onError(Rejections.toStatus(e.rejection()));
            return;
        } catch (SQLException e) {
            // Thrown before the commit only, and rolled back: a commit without an answer is OUTCOME_UNKNOWN already.
            log.warn("{}: the database failed, nothing was applied: {}", verb, e.toString());
            reply.onError(
                    failed(Reason.STORE_UNAVAILABLE, verb + " failed in the database; nothing was applied", "no"));
            return;
        } catch (RuntimeException | Error e) {
            log.error("{}: a bug, or this process is in trouble", verb, e);
            Reason reason = writes ? Reason.OUTCOME_UNKNOWN : Reason.STORE_UNAVAILABLE;
            reply.onError(failed(
                    reason, verb + " failed in the service, see its log; read again", writes ? "unknown" : "no"));
            return;
        }
        reply.onNext(answer);
        reply.onCompleted();
    }

    private static RuntimeException failed(Reason reason, String message, String applied) {
        return Rejections.toStatus(new Rejection(reason, message, Map.of(Rejection.APPLIED, applied)));
    }
}
