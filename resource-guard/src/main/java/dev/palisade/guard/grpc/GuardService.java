package dev.palisade.guard.grpc;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Check;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.ClaimRequest;
import dev.palisade.proto.v1.DescribeMarkReply;
import dev.palisade.proto.v1.DescribeMarkRequest;
import dev.palisade.proto.v1.GuardGrpc;
import dev.palisade.proto.v1.Mark;
import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The {@code palisade.v1.Guard} service beside the guarded ones: lets a holder claim what its lock guards before it uses it,
 * and tells marks. It can claim only what the interceptor's bindings can name. Never blocks. Safe for use by several threads.
 */
public final class GuardService implements BindableService {
    private static final Context.Key<Metadata> HEADERS = Context.key("palisade-claim-headers");

    private final Guard guard;
    private final Routes routes;

    /** @param interceptor in front of the services whose resources may be claimed */
    public GuardService(GuardInterceptor interceptor) {
        this.guard = interceptor.guard();
        this.routes = interceptor.routes();
    }

    @Override
    public ServerServiceDefinition bindService() {
        return ServerInterceptors.intercept(new Rpc(), new Headers());
    }

    private void claim(String resource, ServerCallStreamObserver<ClaimReply> answer) {
        CompletableFuture<Admission> entering;
        try {
            SignedSequencer signed = SequencerHeader.require(HEADERS.get());
            Binding binding = routes.binding(resource);
            // As a read: every grant that may read may raise the mark, whatever its mode.
            entering =
                    guard.enterAsync(signed, Access.READ, Check.LOCAL, AdmissionTimeout.of(Context.current()), binding);
        } catch (RejectedException e) {
            if (guard.recordRefusal(e.rejection())) {
                answer.onError(Rejections.toStatus(e.rejection().with(Rejection.APPLIED, "no")));
            } else {
                claimed(resource, answer);
            }
            return;
        }
        answer.setOnCancelHandler(() -> entering.cancel(false));
        var unused = entering.whenComplete((admission, failure) -> {
            if (failure != null) {
                answer.onError(Rejections.toStatus(Route.rejection(failure)));
            } else {
                admission.close();
                claimed(resource, answer);
            }
        });
    }

    private void claimed(String resource, StreamObserver<ClaimReply> answer) {
        ClaimReply.Builder reply = ClaimReply.newBuilder();
        guard.mark(resource).map(GuardService::mark).ifPresent(reply::setMark);
        answer.onNext(reply.build());
        answer.onCompleted();
    }

    private void describe(String resource, StreamObserver<DescribeMarkReply> answer) {
        DescribeMarkReply.Builder reply = DescribeMarkReply.newBuilder();
        Optional<Mark> mark = guard.mark(resource).map(GuardService::mark);
        mark.ifPresent(reply::setMark);
        answer.onNext(reply.build());
        answer.onCompleted();
    }

    private static Mark mark(StoredMark stored) {
        GrantId exclusive = stored.mark().exclusiveGrant();
        return Mark.newBuilder()
                .setResource(stored.resource())
                .setIssuer(stored.issuer())
                .setLock(stored.lock().value())
                .setExclusiveToken(stored.mark().exclusiveToken())
                .setExclusiveGrantId(exclusive == null ? ByteString.EMPTY : ByteString.copyFrom(exclusive.toBytes()))
                .setSharedToken(stored.mark().sharedToken())
                .build();
    }

    private final class Rpc extends GuardGrpc.GuardImplBase {
        @Override
        public void claim(ClaimRequest request, StreamObserver<ClaimReply> answer) {
            GuardService.this.claim(request.getResource(), (ServerCallStreamObserver<ClaimReply>) answer);
        }

        @Override
        public void describeMark(DescribeMarkRequest request, StreamObserver<DescribeMarkReply> answer) {
            describe(request.getResource(), answer);
        }
    }

    /** Carries the headers to the service, unread. */
    private static final class Headers implements ServerInterceptor {
        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            return Contexts.interceptCall(Context.current().withValue(HEADERS, headers), call, headers, next);
        }
    }
}
