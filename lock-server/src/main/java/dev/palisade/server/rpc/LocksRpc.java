package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.RequestDecoder;
import dev.palisade.proto.v1.AcceptReply;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerReply;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ForceReleaseReply;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.LeaveReply;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseReply;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewReply;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ReportRefusalsReply;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.RequestReleaseReply;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.ResumeReply;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Barrier;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.RequestRelease;
import dev.palisade.server.core.Resume;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.Timer;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.net.SocketAddress;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The Locks service: decode, submit, answer. Runs on the transport's threads and never blocks them. */
public final class LocksRpc extends LocksGrpc.LocksImplBase {
    private static final Rejection SUPERSEDED =
            new Rejection(Reason.OUTCOME_UNKNOWN, "a later call with the same request id waits in this one's place");

    /** As in {@link StoreReply#getServer}. */
    private final String server = UUID.randomUUID().toString();

    private final LockEngine engine;
    private final Limits limits;
    private final String version;
    private final int callsInFlightMax;
    private final Streams streams;
    private final ProtoCodec codec;
    private final Answers answers;
    private final ListExecutor listings;
    private final ExplanationCodec explanations;
    private volatile @Nullable AcquireTracer tracer;

    /**
     * @param callsInFlightMax unanswered calls on one stream
     * @param unsentBytesMax of the replies and events that wait to be sent, over all streams
     * @param timer ends streams that do not say who they are, or do not read
     * @param encoders encode pages; few threads
     */
    public LocksRpc(
            LockEngine engine,
            Limits limits,
            String version,
            int callsInFlightMax,
            long unsentBytesMax,
            Timer timer,
            Executor encoders) {
        this.engine = engine;
        this.limits = limits;
        this.version = version;
        this.callsInFlightMax = callsInFlightMax;
        this.streams = new Streams(engine.config().sessionsMax(), unsentBytesMax, timer);
        this.listings = new ListExecutor(encoders);
        this.codec = new ProtoCodec(limits);
        this.answers = new Answers(engine);
        this.explanations = new ExplanationCodec(engine);
    }

    /** This service, which refuses what is no protobuf. */
    public ServerServiceDefinition service() {
        return ServerInterceptors.intercept(RequestDecoder.of(bindService(), engine::refused), new Traceparent());
    }

    /** Records acquires from now on. Call it before the first of them. */
    public void trace(AcquireTracer recorder) {
        tracer = recorder;
    }

    @Override
    public StreamObserver<ClientFrame> session(StreamObserver<ServerFrame> out) {
        SessionStream stream = new SessionStream(
                engine, limits, version, callsInFlightMax, streams, tracer, (ServerCallStreamObserver<ServerFrame>)
                        out);
        streams.opened(stream);
        return stream;
    }

    /** Ends what does not end by itself: streams, and calls that wait for a lock. Nothing of theirs is freed. */
    public void stop() {
        streams.stop();
        engine.endPendingUnary();
    }

    /**
     * After the policy, the users, the issuer's keys or the time changed: ends the streams of clients whose rights are others now, of
     * which nothing is freed at once, and the waits of unary calls that may not have their lock any more.
     */
    public void accessChanged() {
        streams.accessChanged();
        engine.accessChanged();
    }

    /** Before the connection from {@code peer} is closed, because the client's certificate has expired. */
    public void certificateExpired(SocketAddress peer) {
        streams.certificateExpired(String.valueOf(peer));
    }

    /** Before the connections are closed, because client certificates were verified by authorities that are gone. */
    public void authoritiesChanged() {
        streams.authoritiesChanged();
    }

    /** Session streams that are open. */
    public int openStreams() {
        return streams.open();
    }

    /** Bytes that wait to be sent on all streams. */
    public long unsentBytes() {
        return streams.unsentBytes();
    }

    /** How many streams have not said hello, or will say no more. */
    int streamsOfNobody() {
        return streams.unattached();
    }

    @Override
    public void acquire(AcquireRequest request, StreamObserver<AcquireReply> out) {
        unary(
                request,
                out,
                () -> {
                    SessionId session = session(request.getSessionId());
                    LockEngine.AcquireParams params = codec.acquire(request, session, request.getOwner());
                    Caller party = Caller.KEY.get();
                    TracedAcquire traced = TracedAcquire.begin(tracer, params, party);
                    CompletableFuture<Answer> call = engine.acquireUnary(params, party.lockQuota(), traced);
                    // A caller that hangs up, or whose deadline passes, leaves the queue.
                    ServerCallStreamObserver<AcquireReply> caller = (ServerCallStreamObserver<AcquireReply>) out;
                    caller.setOnCancelHandler(() -> {
                        engine.callBroke(params, call);
                        traced.broke();
                    });
                    caller.setOnCloseHandler(() -> engine.callEnded(params, call));
                    return traced.ending(call.thenApply(answer -> party.allowed(engine, params.lock(), answer)));
                },
                answer -> answers.acquire(ProtoCodec.lock(request.getLock()), request.getTurns(), answer));
    }

    @Override
    public void accept(AcceptRequest request, StreamObserver<AcceptReply> out) {
        unary(
                request,
                out,
                () -> allowed(
                        request.getLock(),
                        engine.execute(new Accept(
                                ProtoCodec.lock(request.getLock()),
                                ProtoCodec.grant(request.getGrantId()),
                                ProtoCodec.token(request.getToken()),
                                session(request.getSessionId()),
                                0))),
                answer -> answers.accept(ProtoCodec.lock(request.getLock()), answer));
    }

    @Override
    public void renew(RenewRequest request, StreamObserver<RenewReply> out) {
        unary(
                request,
                out,
                () -> allowed(
                        request.getLock(),
                        engine.execute(new Renew(
                                ProtoCodec.lock(request.getLock()),
                                ProtoCodec.grant(request.getGrantId()),
                                ProtoCodec.token(request.getToken()),
                                session(request.getSessionId())))),
                answers::renew);
    }

    @Override
    public void release(ReleaseRequest request, StreamObserver<ReleaseReply> out) {
        unary(
                request,
                out,
                () -> {
                    Caller caller = Caller.KEY.get();
                    return engine.release(new Release(
                                    ProtoCodec.lock(request.getLock()),
                                    ProtoCodec.grant(request.getGrantId()),
                                    ProtoCodec.token(request.getToken()),
                                    session(request.getSessionId())))
                            .thenApply(caller::counted);
                },
                answers::release);
    }

    @Override
    public void leave(LeaveRequest request, StreamObserver<LeaveReply> out) {
        unary(
                request,
                out,
                () -> engine.leave(
                        ProtoCodec.lock(request.getLock()),
                        new RequestId(session(request.getSessionId()), request.getRequestId())),
                answers::leave);
    }

    @Override
    public void resume(ResumeRequest request, StreamObserver<ResumeReply> out) {
        unary(
                request,
                out,
                () -> allowed(
                        request.getLock(),
                        engine.resume(
                                new Resume(
                                        ProtoCodec.lock(request.getLock()),
                                        ProtoCodec.grant(request.getGrantId()),
                                        ProtoCodec.token(request.getToken()),
                                        session(request.getSessionId()),
                                        ProtoCodec.within(
                                                "session_gen", request.getSessionGen(), 1, ProtoCodec.SESSION_GEN_MAX)),
                                codec.shown(request, request.getOwner()))),
                answers::resume);
    }

    @Override
    public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
        unary(request, out, () -> engine.execute(new Describe(ProtoCodec.lock(request.getLock()))), answers::describe);
    }

    @Override
    public void requestRelease(RequestReleaseRequest request, StreamObserver<RequestReleaseReply> out) {
        unary(
                request,
                out,
                () -> engine.execute(new RequestRelease(
                        ProtoCodec.lock(request.getLock()),
                        operator(request.getBy()),
                        ProtoCodec.said("why", request.getWhy()))),
                answers::requestRelease);
    }

    private static String operator(String by) {
        return Caller.KEY.get().operator(ProtoCodec.said("by", by));
    }

    @Override
    public void forceRelease(ForceReleaseRequest request, StreamObserver<ForceReleaseReply> out) {
        unary(
                request,
                out,
                () -> engine.execute(new ForceRelease(
                        ProtoCodec.lock(request.getLock()),
                        ProtoCodec.within("token", request.getToken(), 0, FencingToken.MAX),
                        operator(request.getBy()),
                        ProtoCodec.said("why", request.getWhy()))),
                answers::forceRelease);
    }

    @Override
    public void checkSequencer(CheckSequencerRequest request, StreamObserver<CheckSequencerReply> out) {
        unary(
                request,
                out,
                () -> engine.checkSequencer(
                        SignedSequencer.of(request.getSequencer().toByteArray())),
                answers::checkSequencer);
    }

    @Override
    public void barrier(BarrierRequest request, StreamObserver<BarrierReply> out) {
        unary(request, out, () -> engine.execute(new Barrier(ProtoCodec.lock(request.getLock()))), answers::barrier);
    }

    @Override
    public void list(ListRequest request, StreamObserver<ListReply> out) {
        unary(
                request,
                out,
                () -> {
                    String prefix = ProtoCodec.prefix(request.getPrefix());
                    String after = PageToken.name(request.getPageToken(), request.getPrefix());
                    int size = ProtoCodec.pageSize(request.getPageSize());
                    VisibleLocks visible = new VisibleLocks(Caller.KEY.get().visible(prefix), engine);
                    return listings.list(() -> visible.page(after, size), answers::list);
                },
                reply -> reply);
    }

    @Override
    public void history(HistoryRequest request, StreamObserver<HistoryReply> out) {
        unary(request, out, () -> engine.history(ProtoCodec.lock(request.getLock())), Answers::history);
    }

    @Override
    public void explain(ExplainRequest request, StreamObserver<ExplainReply> out) {
        unary(request, out, () -> explanations.explain(request), ExplanationCodec::reply);
    }

    @Override
    public void reportRefusals(ReportRefusalsRequest request, StreamObserver<ReportRefusalsReply> out) {
        unary(
                request,
                out,
                () -> CompletableFuture.completedFuture(explanations.report(request, Caller.KEY.get())),
                reply -> reply);
    }

    @Override
    public void sessions(SessionsRequest request, StreamObserver<SessionsReply> out) {
        unary(
                request,
                out,
                () -> CompletableFuture.completedFuture(engine.sessions(
                        PageToken.fingerprint(request.getPageToken()), ProtoCodec.pageSize(request.getPageSize()))),
                Answers::sessions);
    }

    @Override
    public void store(StoreRequest request, StreamObserver<StoreReply> out) {
        unary(
                request,
                out,
                () -> CompletableFuture.completedFuture(engine.store()),
                status -> Answers.store(status, server));
    }

    Answers answers() {
        return answers;
    }

    /** As {@link ListExecutor#list}, with the listings of {@link #list}. */
    <P, R> CompletionStage<R> listed(Supplier<CompletionStage<P>> read, Function<P, R> encode) {
        return listings.list(read, encode);
    }

    /** The rejection, counted, and logged where operators should see it. */
    Rejection noted(Rejection rejection, Caller caller) {
        return answers.noted(rejection, caller);
    }

    private CompletionStage<Answer> allowed(String lock, CompletionStage<Answer> stage) {
        Caller caller = Caller.KEY.get();
        return stage.thenApply(answer -> caller.allowed(engine, ProtoCodec.lock(lock), answer));
    }

    private static SessionId session(ByteString id) {
        return Caller.KEY.get().session(ProtoCodec.session(id));
    }

    private <A, T> void unary(
            Message request, StreamObserver<T> out, Supplier<CompletionStage<A>> submit, Function<A, T> encode) {
        Caller caller = Caller.KEY.get();
        try {
            caller.require(request);
            var unused = submit.get().whenComplete((answer, failure) -> {
                if (failure != null) {
                    out.onError(Rejections.toStatus(
                            failure.getCause() instanceof RejectedException refused
                                    ? answers.noted(refused.rejection(), caller)
                                    : SUPERSEDED));
                    return;
                }
                try {
                    out.onNext(encode.apply(answer));
                    out.onCompleted();
                } catch (RejectedException e) {
                    out.onError(Rejections.toStatus(answers.noted(e.rejection(), caller)));
                } catch (RuntimeException e) {
                    out.onError(Rejections.toStatus(Answers.unsaid(e)));
                }
            });
        } catch (RejectedException e) {
            if (request instanceof AcquireRequest) {
                engine.acquireRefused();
            }
            out.onError(Rejections.toStatus(answers.noted(e.rejection(), caller)));
        }
    }
}
