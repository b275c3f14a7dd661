package dev.palisade.proxy;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.proto.v1.ClaimObjectRequest;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.DeleteObjectReply;
import dev.palisade.proto.v1.DeleteObjectRequest;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.Mark;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectReply;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Service that passes each call to the guard and forwards it to the storage, with its sequencer. The admission of a
 * call is closed when the storage has replied. Its outcome is unknown when no reply comes in time or the connection
 * broke; a later reply closes it after all. The forwarded call does not end with the caller's, since a cancelled
 * call may still run. A method that is not here is unknown.
 */
final class ProxyService extends ObjectsGrpc.ObjectsImplBase {
    private static final Context.Key<byte[]> SEQUENCER = Context.key("sequencer");

    private final @Nullable Guard guard;
    private final ManagedChannel channel;
    private final Breakpoint breakpoint;
    private final Duration replyTimeout;
    private final Duration backendDeadline;
    private final ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor(run -> {
        Thread thread = new Thread(run, "proxy-timers");
        thread.setDaemon(true);
        return thread;
    });

    /** @param guard null: every call is admitted */
    ProxyService(
            @Nullable Guard guard,
            ManagedChannel channel,
            Breakpoint breakpoint,
            Duration replyTimeout,
            Duration backendDeadline) {
        this.guard = guard;
        this.channel = channel;
        this.breakpoint = breakpoint;
        this.replyTimeout = replyTimeout;
        this.backendDeadline = backendDeadline;
    }

    /** Passes the header to the service, unread. */
    static final class Headers implements ServerInterceptor {
        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            byte[] bytes = headers.get(SequencerHeader.KEY);
            Context context =
                    bytes == null ? Context.current() : Context.current().withValue(SEQUENCER, bytes);
            return Contexts.interceptCall(context, call, headers, next);
        }
    }

    @Override
    public void put(PutObjectRequest request, StreamObserver<PutObjectReply> observer) {
        serve(request.getKey(), Access.WRITE, observer, (stub, reply) -> stub.put(request, reply));
    }

    @Override
    public void delete(DeleteObjectRequest request, StreamObserver<DeleteObjectReply> observer) {
        serve(request.getKey(), Access.WRITE, observer, (stub, reply) -> stub.delete(request, reply));
    }

    @Override
    public void get(GetObjectRequest request, StreamObserver<GetObjectReply> observer) {
        GetObjectRequest fenced = request.toBuilder().setUnfenced(false).build();
        serve(request.getKey(), Access.READ, observer, (stub, reply) -> stub.get(fenced, reply));
    }

    /** Of the guard alone: the storage has no marks. */
    @Override
    public void claim(ClaimObjectRequest request, StreamObserver<ClaimReply> observer) {
        if (guard == null) {
            super.claim(request, observer);
            return;
        }
        Guard here = guard;
        String key = request.getKey();
        var unused = admit(here, key, Access.READ, SEQUENCER.get()).whenComplete((admission, failure) -> {
            if (failure != null) {
                refuse(observer, failure);
                return;
            }
            admission.close();
            here.mark(key).ifPresent(mark -> observer.onNext(reply(mark)));
            observer.onCompleted();
        });
    }

    private static ClaimReply reply(StoredMark stored) {
        GrantId grant = stored.mark().exclusiveGrant();
        return ClaimReply.newBuilder()
                .setMark(Mark.newBuilder()
                        .setResource(stored.resource())
                        .setIssuer(stored.issuer())
                        .setLock(stored.lock().value())
                        .setExclusiveToken(stored.mark().exclusiveToken())
                        .setExclusiveGrantId(grant == null ? ByteString.EMPTY : ByteString.copyFrom(grant.toBytes()))
                        .setSharedToken(stored.mark().sharedToken()))
                .build();
    }

    private <R> void serve(
            String key,
            Access access,
            StreamObserver<R> observer,
            BiConsumer<ObjectsGrpc.ObjectsStub, StreamObserver<R>> call) {
        ServerCallStreamObserver<R> caller = (ServerCallStreamObserver<R>) observer;
        byte @Nullable [] header = SEQUENCER.get();
        breakpoint.pass(Step.ARRIVED);
        if (guard == null) {
            forward(key, header, ForwardedAdmission.UNGUARDED, caller, call);
            return;
        }
        CompletableFuture<Admission> entering = admit(guard, key, access, header);
        // What is cancelled is the guard's own future: cancelling one derived from it would leave the call admitted.
        caller.setOnCancelHandler(() -> entering.cancel(false));
        var unused = entering.whenComplete((admission, failure) -> {
            if (failure == null) {
                forward(key, header, ForwardedAdmission.of(admission), caller, call);
            } else {
                refuse(caller, failure);
            }
        });
    }

    private <R> void forward(
            String key,
            byte @Nullable [] header,
            ForwardedAdmission admission,
            StreamObserver<R> caller,
            BiConsumer<ObjectsGrpc.ObjectsStub, StreamObserver<R>> call) {
        breakpoint.pass(Step.LET_IN);
        ForwardedCall<R> forwarded = new ForwardedCall<>(key, admission, caller, breakpoint);
        var timer = timers.schedule(forwarded::timedOut, replyTimeout.toMillis(), TimeUnit.MILLISECONDS);
        forwarded.onAnswer(() -> timer.cancel(false));
        // In no context of the caller's: its cancellation and its deadline are not the forwarded call's.
        Context.ROOT.run(() -> call.accept(stub(header), forwarded));
    }

    private static CompletableFuture<Admission> admit(
            Guard guard, String key, Access access, byte @Nullable [] header) {
        try {
            if (header == null) {
                throw new Rejection(
                                Reason.SEQUENCER_MISSING,
                                "the call on '" + key + "' carries no sequencer; send it in the sequencer-bin header",
                                Map.of(Rejection.APPLIED, "no"))
                        .asException();
            }
            return guard.enterAsync(SignedSequencer.of(header), access, Binding.of(new LockName(key)));
        } catch (RejectedException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private ObjectsGrpc.ObjectsStub stub(byte @Nullable [] header) {
        Metadata headers = new Metadata();
        if (header != null) {
            headers.put(SequencerHeader.KEY, header);
        }
        channel.resetConnectBackoff();
        return ObjectsGrpc.newStub(channel)
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                .withDeadlineAfter(backendDeadline.toMillis(), TimeUnit.MILLISECONDS);
    }

    private static void refuse(StreamObserver<?> caller, Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        caller.onError(
                cause instanceof RejectedException rejected
                        ? Rejections.toStatus(rejected.rejection())
                        : Status.fromThrowable(cause).asRuntimeException());
    }
}
