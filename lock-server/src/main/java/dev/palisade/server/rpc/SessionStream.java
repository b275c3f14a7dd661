package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.ReplyBudget;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LostEvent;
import dev.palisade.proto.v1.LostReason;
import dev.palisade.proto.v1.OfferedEvent;
import dev.palisade.proto.v1.ReleaseRequestedEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeManyReply;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.WaitEndedEvent;
import dev.palisade.proto.v1.Welcome;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Resume;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.Peer;
import dev.palisade.server.engine.Session;
import dev.palisade.server.engine.SessionHolder;
import dev.palisade.server.engine.WaitingHello;
import dev.palisade.server.rpc.KeepAlives.KeepAliveIds;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One session stream. Client frames are asked for one by one and only while few enough calls are unanswered, and replies
 * wait in the {@link Outbox} until the transport takes them: a client that floods, or does not read, stops being read.
 * What can gather is bounded by the calls in flight and by the locks of the session.
 */
final class SessionStream implements StreamObserver<ClientFrame>, Peer {
    /** As much as one frame takes. */
    static final int UNSENT_BYTES_DESCRIBED = 1 << 20;

    /** As many grants, of names of 256 bytes, are 70 kB. */
    static final int RESUME_MANY_MAX = 256;

    private final LockEngine engine;
    private final ProtoCodec codec;
    private final Answers answers;
    private final Limits limits;
    private final String version;
    private final int callsInFlightMax;
    private final Streams streams;
    private final Outbox outbox;
    private final KeepAlives keepAlives;
    private final AcquireTraces traces;
    private final Context context = Context.current();
    private final Caller caller = Caller.KEY.get();
    // Set once, while the transport hands over no other frame of this stream.
    private volatile @Nullable Session session;
    /** Frames with a longer hello, or with calls, do not wait. */
    static final int WAITING_BYTES_MAX = 2_048;

    /** Whether the hello has waited for a takeover. */
    private boolean hasWaited;

    private volatile boolean isWaiting;
    /** Number of leases that the client has announced in its hello and not resumed yet. */
    private final AtomicInteger unresumed = new AtomicInteger();

    private volatile Runnable allResumed = () -> {};
    /** Result of the last {@code resume_many}. The next begins after it, so that other clients do not wait behind thousands of grants. */
    private CompletionStage<@Nullable Void> resumed = CompletableFuture.completedStage(null);
    /** The first that comes stays: to end the call closes it, too. */
    private final AtomicReference<@Nullable EndCause> endCause = new AtomicReference<>();

    SessionStream(
            LockEngine engine,
            Limits limits,
            String version,
            int callsInFlightMax,
            Streams streams,
            @Nullable AcquireTracer tracer,
            ServerCallStreamObserver<ServerFrame> out) {
        this.engine = engine;
        this.traces = new AcquireTraces(tracer);
        this.codec = new ProtoCodec(limits);
        this.answers = new Answers(engine);
        this.limits = limits;
        this.version = version;
        this.callsInFlightMax = callsInFlightMax;
        this.outbox = new Outbox(out, callsInFlightMax, streams::unsent);
        this.keepAlives = new KeepAlives(this::keepAlive, outbox::noReply);
        this.streams = streams;
        out.setOnCancelHandler(this::broke);
        // gRPC also closes a call by itself, without a cancel: when a callback or a decoder throws.
        out.setOnCloseHandler(this::broke);
    }

    // ---- from the client ----

    @Override
    public void onNext(ClientFrame frame) {
        if (session == null) {
            accessChanged(); // What changed while the stream was opened.
        }
        if (outbox.isEnded()) {
            return;
        }
        try {
            Session attached = session;
            if (attached == null) {
                if (waits(frame)) {
                    return; // No frame is asked for meanwhile.
                }
                attached = attach(frame);
            } else if (frame.hasHello()) {
                throw RejectedException.malformed("hello came twice; it belongs in the first frame only");
            }
            engine.frameArrived(attached, frame.getSentNanos());
            Session asking = attached;
            engine.together(() -> take(asking, frame));
            flush();
        } catch (RejectedException e) {
            end(e.rejection(), EndCause.STREAM_REFUSED);
        }
    }

    private void take(Session attached, ClientFrame frame) {
        int calls = 0;
        for (Call call : frame.getCallsList()) {
            calls += weight(call);
        }
        if (calls > callsInFlightMax) {
            throw new Rejection(
                            Reason.LIMIT_EXCEEDED,
                            "a frame has " + calls + " calls, and a resume_many counts as one for each grant;"
                                    + " calls_in_flight_max is " + callsInFlightMax)
                    .asException();
        }
        outbox.took(calls + (frame.hasKeepAlive() ? 1 : 0));
        for (Call call : frame.getCallsList()) {
            // No event of the store's thread may overtake the reply to the call that caused it.
            outbox.inOrder(() -> submit(attached, call));
        }
        if (frame.hasKeepAlive()) {
            keepAlives.came(
                    frame.getKeepAlive().getKeepAliveId(), !frame.getKeepAlive().getRenewsNothing());
        }
    }

    /** Number of calls in flight that the call counts as. */
    private static int weight(Call call) {
        return Math.max(1, call.getResumeMany().getGrantsCount());
    }

    private boolean waits(ClientFrame frame) {
        if (hasWaited
                || !frame.hasHello()
                || frame.getSerializedSize() > WAITING_BYTES_MAX
                || frame.getCallsCount() > 0) {
            return false;
        }
        hasWaited = true;
        isWaiting = true;
        Hello hello = frame.getHello();
        boolean waits = engine.awaitTakeover(hello.getPatienceMillis(), hello.getResumes(), new WaitingHello() {
            @Override
            public boolean sendSign() {
                return outbox.sendSign();
            }

            @Override
            public void proceed(Runnable resumed) {
                isWaiting = false;
                unresumed.set(hello.getResumes());
                allResumed = resumed;
                onNext(frame);
                if (outbox.isEnded()) {
                    resumed.run();
                }
            }
        });
        if (!waits) {
            isWaiting = false;
        }
        return waits;
    }

    private Session attach(ClientFrame frame) {
        if (!frame.hasHello()) {
            throw RejectedException.malformed("the first frame has no hello; send one");
        }
        Hello hello = frame.getHello();
        ProtoCodec.within("session_gen", hello.getSessionGen(), 1, ProtoCodec.SESSION_GEN_MAX);
        // Before anybody can push an event: the first frame has the welcome, or the stream ends without one.
        outbox.welcome(Welcome.newBuilder()
                .setIssuer(engine.config().issuer())
                .setServerVersion(version)
                .setGraceMillis(engine.config().graceMillis())
                .setTtlMinMillis(limits.ttlMinMillis())
                .setTtlMaxMillis(limits.ttlMaxMillis())
                .setCallsInFlightMax(callsInFlightMax)
                .setResumeManyMax(engine.isRecovering() ? 0 : RESUME_MANY_MAX)
                .setKnowsRenewsNothing(true));
        Session attached = engine.attach(
                caller.session(ProtoCodec.session(hello.getSessionId())),
                hello.getSessionGen(),
                ProtoCodec.text("owner", hello.getOwner()),
                hello.getKeepLeasesOnDisconnect(),
                this,
                new SessionHolder(
                        caller.principal(), caller.sessionsMax(engine.config().sessionsMax())));
        session = attached;
        streams.removeUnattached(this);
        boolean isHalfClosed = endCause.get() == EndCause.CLIENT_CLOSED;
        if (isHalfClosed && !outbox.isEnded()) {
            streams.addUnattached(this);
        }
        if (outbox.isEnded() || isHalfClosed) {
            detach(EndCause.CONNECTION_BROKE); // Another thread ended it meanwhile, and saw no session to detach.
        }
        return attached;
    }

    private void submit(Session attached, Call call) {
        try {
            switch (call.getCallCase()) {
                case ACQUIRE -> {
                    caller.require(call.getAcquire());
                    LockEngine.AcquireParams params = codec.acquire(call.getAcquire(), attached.id(), attached.owner());
                    traces.begin(params, call.getTraceparent());
                    CompletionStage<Answer> acquired = allowed(
                                    params.lock(), engine.acquire(attached, params, caller.lockQuota()))
                            .thenApply(answer -> {
                                traces.answered(params, answer);
                                return answer;
                            });
                    answer(call, acquired, (reply, answer) -> {
                        if (answer instanceof Answer.WaitEnded over) {
                            waitEnded(params.lock(), params.id().number(), over.end());
                        }
                        reply.setAcquire(answers.acquire(params.lock(), params.turns(), answer));
                    });
                }
                case ACCEPT -> {
                    caller.require(call.getAccept());
                    LockName name = ProtoCodec.lock(call.getAccept().getLock());
                    GrantId grant = ProtoCodec.grant(call.getAccept().getGrantId());
                    CompletionStage<Answer> accepted = allowed(
                            name,
                            engine.accept(
                                    attached,
                                    name,
                                    grant,
                                    ProtoCodec.token(call.getAccept().getToken())));
                    answer(
                            call,
                            accepted.thenApply(answer -> {
                                traces.accepted(grant, answer);
                                return answer;
                            }),
                            (reply, answer) -> reply.setAccept(answers.accept(name, answer)));
                }
                case RENEW -> {
                    caller.require(call.getRenew());
                    LockName name = ProtoCodec.lock(call.getRenew().getLock());
                    given(
                            call,
                            name,
                            engine.renew(
                                    attached,
                                    name,
                                    ProtoCodec.grant(call.getRenew().getGrantId()),
                                    ProtoCodec.token(call.getRenew().getToken())),
                            (reply, answer) -> reply.setRenew(answers.renew(answer)));
                }
                case RELEASE -> {
                    caller.require(call.getRelease());
                    GrantId grant = ProtoCodec.grant(call.getRelease().getGrantId());
                    traces.released(grant);
                    answer(
                            call,
                            engine.release(new Release(
                                            ProtoCodec.lock(call.getRelease().getLock()),
                                            grant,
                                            ProtoCodec.token(call.getRelease().getToken()),
                                            attached.id()))
                                    .thenApply(caller::counted),
                            (reply, answer) -> reply.setRelease(answers.release(answer)));
                }
                case LEAVE -> {
                    caller.require(call.getLeave());
                    LockName name = ProtoCodec.lock(call.getLeave().getLock());
                    traces.left(name, call.getLeave().getRequestId());
                    answer(
                            call,
                            engine.leave(
                                    name,
                                    new RequestId(attached.id(), call.getLeave().getRequestId())),
                            (reply, answer) -> reply.setLeave(answers.leave(answer)));
                }
                case RESUME -> {
                    caller.require(call.getResume());
                    LockName name = ProtoCodec.lock(call.getResume().getLock());
                    given(
                            call,
                            name,
                            engine.resume(
                                    attached,
                                    name,
                                    ProtoCodec.grant(call.getResume().getGrantId()),
                                    ProtoCodec.token(call.getResume().getToken()),
                                    codec.shown(call.getResume(), attached.owner())),
                            (reply, answer) -> reply.setResume(answers.resume(answer)));
                }
                case RESUME_MANY -> resumeMany(attached, call);
                case DESCRIBE -> {
                    caller.require(call.getDescribe());
                    answer(
                            call,
                            engine.execute(new Describe(
                                    ProtoCodec.lock(call.getDescribe().getLock()))),
                            (reply, answer) -> {
                                requireRoom();
                                reply.setDescribe(answers.describe(answer));
                            });
                }
                case CALL_NOT_SET ->
                    throw RejectedException.malformed(
                            "call " + call.getCallId() + " names no command this server knows");
            }
        } catch (RejectedException e) {
            reply(call, reply -> reply.setRejected(Answers.rejected(answers.noted(e.rejection(), caller))));
            if (call.hasAcquire()) {
                engine.acquireRefused();
                traces.rejected(call.getAcquire(), call.getTraceparent(), e.rejection());
            }
        }
    }

    /** Resumes many grants. For the rest the client sends resumes with evidence, and gets the reasons. */
    private void resumeMany(Session attached, Call call) {
        List<ResumedGrant> named = call.getResumeMany().getGrantsList();
        ProtoCodec.within("the number of grants", named.size(), 0, RESUME_MANY_MAX);
        List<Resume> grants = ProtoCodec.resumes(named, attached.id(), attached.gen());
        resumed = resumed.thenCompose(before -> resumeMany(attached, call, grants));
    }

    private CompletionStage<@Nullable Void> resumeMany(Session attached, Call call, List<Resume> grants) {
        if (outbox.isEnded()) {
            return CompletableFuture.completedStage(null);
        }
        Set<GrantId> left = ConcurrentHashMap.newKeySet();
        grants.forEach(grant -> left.add(grant.grant()));
        CompletableFuture<?>[] asked = IntStream.range(0, grants.size())
                .filter(i -> isAllowed(call.getResumeMany().getGrants(i)))
                .mapToObj(i -> allowed(grants.get(i).lock(), engine.resume(attached, grants.get(i)))
                        .thenAccept(answer -> {
                            if (answer instanceof Answer.Resumed) {
                                left.remove(grants.get(i).grant());
                            }
                        })
                        .toCompletableFuture())
                .toArray(CompletableFuture[]::new);
        return CompletableFuture.allOf(asked).thenAccept(all -> {
            ResumeManyReply.Builder reply = ResumeManyReply.newBuilder();
            left.forEach(grant -> reply.addNotResumed(ByteString.copyFrom(grant.toBytes())));
            reply(call, one -> one.setResumeMany(reply));
            if (!left.isEmpty()) {
                flush(); // A store that fails ends no turn.
            }
        });
    }

    /** Whether the caller may hold the grant. A denial is counted and logged, as of any other call. */
    private boolean isAllowed(ResumedGrant grant) {
        try {
            caller.require(grant);
            return true;
        } catch (RejectedException e) {
            var unused = answers.noted(e.rejection(), caller);
            return false;
        }
    }

    /** Descriptions are long. Making thousands for a client that does not read would delay other clients. */
    private void requireRoom() {
        if (outbox.unsentBytes() > UNSENT_BYTES_DESCRIBED) {
            throw Limits.exceeded(
                            "unsentBytesDescribed",
                            "more than " + UNSENT_BYTES_DESCRIBED + " bytes wait to be sent on this stream; read them,"
                                    + " then ask again")
                    .asException();
        }
    }

    /** {@link #answer} of a command that may give or keep a lock. */
    private void given(
            Call call, LockName lock, CompletionStage<Answer> stage, BiConsumer<Reply.Builder, Answer> encode) {
        answer(call, allowed(lock, stage), encode);
    }

    private CompletionStage<Answer> allowed(LockName lock, CompletionStage<Answer> stage) {
        return stage.thenApply(answer -> caller.allowed(engine, lock, answer));
    }

    private void answer(Call call, CompletionStage<Answer> stage, BiConsumer<Reply.Builder, Answer> encode) {
        var unused = stage.thenAccept(answer -> {
            reply(call, reply -> {
                if (answer instanceof Answer.Refused refused) {
                    reply.setRejected(Answers.rejected(answers.noted(refused.rejection(), caller)));
                } else {
                    encode.accept(reply, answer);
                }
            });
            if (answer instanceof Answer.Refused refused && !LockEngine.isFinal(refused)) {
                flush(); // A store that fails ends no turn.
            }
        });
    }

    private void reply(Call call, Consumer<Reply.Builder> encode) {
        if (outbox.isEnded()) {
            return; // Of a stream that was ended for its unread replies, thousands may still come.
        }
        boolean resumes = call.hasResume() || call.hasResumeMany();
        if (resumes && unresumed.addAndGet(-weight(call)) <= 0) {
            allResumed.run();
        }
        Reply.Builder reply = Reply.newBuilder().setCallId(call.getCallId());
        try {
            encode.accept(reply);
        } catch (RejectedException e) {
            reply.setRejected(Answers.rejected(answers.noted(e.rejection(), caller)));
        } catch (RuntimeException e) {
            reply.setRejected(Answers.rejected(Answers.unsaid(e)));
        }
        outbox.reply(reply.build(), weight(call));
        engine.flushLater(this);
    }

    private CompletionStage<?> keepAlive(KeepAliveIds ids) {
        CompletionStage<List<LockEngine.Lost>> renewed = ids.renews()
                ? engine.keepAlive(Objects.requireNonNull(session))
                : CompletableFuture.completedStage(List.of());
        return renewed.whenComplete((lost, failure) -> {
            if (failure != null) {
                outbox.noReply();
            } else {
                KeepAliveReply.Builder reply = KeepAliveReply.newBuilder()
                        .setKeepAliveId(ids.newest())
                        .setRenewedId(ids.renewing())
                        .setRecoveringMillis(engine.recoveringMillis());
                lost.forEach(
                        lease -> reply.addLost(lostEvent(lease.lock(), lease.grant(), lease.end(), lease.detail())));
                outbox.keepAlive(reply.build());
            }
            flush();
        });
    }

    @Override
    public void onError(Throwable broken) {
        broke();
    }

    @Override
    public void onCompleted() {
        detach(EndCause.CLIENT_CLOSED);
        // Before the end, which may be now: a client that says no more and does not read what is left must not stay.
        streams.addUnattached(this);
        outbox.halfClose();
    }

    /** However the call ended. */
    private void broke() {
        outbox.closed();
        detach(EndCause.CONNECTION_BROKE);
        streams.closed(this);
    }

    private void detach(EndCause cause) {
        traces.close();
        allResumed.run();
        endCause.compareAndSet(null, cause);
        Session attached = session;
        if (attached != null) {
            engine.detach(attached, Objects.requireNonNull(endCause.get()));
        }
    }

    // ---- from the engine ----

    @Override
    public void offered(LockName name, Grant grant, int turns, long offerMillis, long seenSentNanos) {
        Optional<Rejection> denied = caller.denied(grant.request().mode(), name);
        if (denied.isPresent()) {
            traces.refused(name, grant.request().id().number(), denied.get());
            var unused =
                    engine.leave(name, grant.request().id()); // Its sequencer would pass a guard without an accept.
            return;
        }
        traces.offered(name, grant);
        Event.Builder event = Event.newBuilder()
                .setOffered(OfferedEvent.newBuilder()
                        .setRequestId(grant.request().id().number())
                        .setGranted(answers.granted(name, grant, turns))
                        .setOfferMillis(offerMillis));
        outbox.inOrder(() -> {
            Session attached = session;
            // A repeated acquire accepts the offer that is out. Its reply, before which this stream holds the grant,
            // says it all.
            if (attached == null || !attached.holds(grant.id())) {
                outbox.offer(event.build(), seenSentNanos);
            }
        });
    }

    @Override
    public void lost(LockName name, GrantId grant, End end, String detail) {
        outbox.event(Event.newBuilder()
                .setLost(lostEvent(name, grant, Optional.of(end), detail))
                .build());
    }

    @Override
    public void releaseRequested(LockName name, GrantId grant, String by, String why) {
        outbox.releaseRequested(ReleaseRequestedEvent.newBuilder()
                .setLock(name.value())
                .setGrantId(ByteString.copyFrom(grant.toBytes()))
                .setBy(by)
                .setWhy(why)
                .build());
    }

    @Override
    public void waitEnded(LockName lock, long requestNumber, End end) {
        traces.waitEnded(lock, requestNumber, end);
        outbox.event(Event.newBuilder()
                .setWaitEnded(WaitEndedEvent.newBuilder()
                        .setRequestId(requestNumber)
                        .setEnd(Answers.waitEnd(end))
                        .setLock(lock.value()))
                .build());
    }

    @Override
    public void superseded() {
        end(
                new Rejection(Reason.SESSION_UNKNOWN, "a newer stream of this session has taken over"),
                EndCause.NOT_RESUMED);
    }

    @Override
    public void deposed(Rejection why) {
        end(why, EndCause.SERVER_STOPPED);
    }

    private static LostEvent lostEvent(LockName name, GrantId grant, Optional<End> end, String detail) {
        return LostEvent.newBuilder()
                .setLock(name.value())
                .setGrantId(ByteString.copyFrom(grant.toBytes()))
                .setReason(end.map(Answers::lostReason).orElse(LostReason.LOST_UNKNOWN))
                .setDetail(detail)
                .build();
    }

    @Override
    public void flush() {
        outbox.flush();
    }

    /** Whether it has said hello, and waits for a takeover. */
    boolean isWaiting() {
        return isWaiting;
    }

    /** Had the time to say hello, or to read what was left to say. */
    void endUnattached() {
        end(
                session == null
                        ? new Rejection(
                                Reason.MALFORMED_REQUEST,
                                "no hello within " + Streams.SWEEP_MILLIS + " ms; the first frame has one")
                        : new Rejection(
                                Reason.STORE_UNAVAILABLE,
                                "what was answered was not read within " + Streams.SWEEP_MILLIS
                                        + " ms; ask again on another stream"),
                EndCause.NOT_READ);
    }

    /** Address that the stream came from; empty without authentication. */
    String peer() {
        return caller.peer();
    }

    /** Bytes that wait to be sent. */
    long unsentBytes() {
        return outbox.unsentBytes();
    }

    /** Ends if its client's rights changed. */
    void accessChanged() {
        Withdrawal withdrawn = caller.withdrawn();
        if (withdrawn != null) {
            end(withdrawn.rejection(), withdrawn.cause());
        }
    }

    /** Cause of its end, which comes next, and however it comes. */
    void endsBy(EndCause cause) {
        endCause.compareAndSet(null, cause);
    }

    /** Says no more, and lets the session go into its grace. */
    void end(Rejection rejection, EndCause cause) {
        endCause.compareAndSet(null, cause);
        if (outbox.end(Rejections.toStatus(answers.noted(rejection, caller)))) {
            ReplyBudget.reset(context);
        }
        streams.removeUnattached(this);
        detach(cause);
    }
}
