package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LostEvent;
import dev.palisade.proto.v1.LostReason;
import dev.palisade.proto.v1.OfferedEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.WaitEndedEvent;
import dev.palisade.proto.v1.Welcome;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.Peer;
import dev.palisade.server.engine.Session;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One session stream. Client frames are asked for one by one and only while few enough calls are unanswered, and replies
 * wait here until the transport takes them: a client that floods, or does not read, stops being read. What can gather is
 * bounded by the calls in flight and by the locks of the session.
 */
final class SessionStream implements StreamObserver<ClientFrame>, Peer {
    private final LockEngine engine;
    private final ProtoCodec codec;
    private final Answers answers;
    private final Limits limits;
    private final String version;
    private final int callsInFlightMax;
    private final ServerCallStreamObserver<ServerFrame> out;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final Object lock = new Object();
    // Guarded by lock.
    /** Frames that are full and wait for the transport, then the one being filled. */
    private final Deque<Gathered> waiting = new ArrayDeque<>();

    private Gathered gathered = new Gathered();
    private boolean halfClosed;
    private boolean ended;
    private boolean frameOwed;
    // Only set by the transport's thread of this stream.
    private volatile @Nullable Session session;

    SessionStream(
            LockEngine engine,
            Limits limits,
            String version,
            int callsInFlightMax,
            ServerCallStreamObserver<ServerFrame> out) {
        this.engine = engine;
        this.codec = new ProtoCodec(limits);
        this.answers = new Answers(engine);
        this.limits = limits;
        this.version = version;
        this.callsInFlightMax = callsInFlightMax;
        this.out = out;
        out.disableAutoRequest();
        out.setOnReadyHandler(this::flush);
        out.setOnCancelHandler(this::detach);
        out.request(1);
    }

    /** What goes out together. Guarded by lock. */
    private static final class Gathered {
        final ServerFrame.Builder frame = ServerFrame.newBuilder();
        int replies;
        int offers;
        int bytes;
        boolean empty = true;

        /** A client refuses a frame of more than 4 MiB. */
        boolean isFull() {
            return bytes >= 1 << 20;
        }
    }

    // ---- from the client ----

    @Override
    public void onNext(ClientFrame frame) {
        try {
            Session attached = session;
            if (attached == null) {
                attached = attach(frame);
            } else if (frame.hasHello()) {
                throw RejectedException.malformed("hello came twice; it belongs in the first frame only");
            }
            engine.frameArrived(attached, frame.getSentNanos());
            take(attached, frame);
            flush();
        } catch (RejectedException e) {
            end(e.rejection());
        }
    }

    private void take(Session attached, ClientFrame frame) {
        int calls = frame.getCallsCount() + (frame.hasKeepAlive() ? 1 : 0);
        if (frame.getCallsCount() > callsInFlightMax) {
            throw new Rejection(
                            Reason.LIMIT_EXCEEDED,
                            "a frame has " + frame.getCallsCount() + " calls, calls_in_flight_max is "
                                    + callsInFlightMax)
                    .asException();
        }
        inFlight.addAndGet(calls);
        // Before anything is submitted, so that the offers it causes can count on this frame.
        synchronized (lock) {
            frameOwed = true;
        }
        for (Call call : frame.getCallsList()) {
            // Under the lock, so that no event of the store's thread overtakes the reply to the call that caused it.
            synchronized (lock) {
                submit(attached, call);
            }
        }
        if (frame.hasKeepAlive()) {
            keepAlive(attached, frame.getKeepAlive().getKeepAliveId());
        }
    }

    private Session attach(ClientFrame frame) {
        if (!frame.hasHello()) {
            throw RejectedException.malformed("the first frame has no hello; send one");
        }
        Hello hello = frame.getHello();
        ProtoCodec.within("session_gen", hello.getSessionGen(), 1, Long.MAX_VALUE - 1);
        Session attached = engine.attach(
                ProtoCodec.session(hello.getSessionId()),
                hello.getSessionGen(),
                ProtoCodec.text("owner", hello.getOwner()),
                hello.getKeepLeasesOnDisconnect(),
                this);
        session = attached;
        gather(
                Welcome.newBuilder()
                        .setIssuer(engine.config().issuer())
                        .setServerVersion(version)
                        .setGraceMillis(engine.config().graceMillis())
                        .setTtlMinMillis(limits.ttlMinMillis())
                        .setTtlMaxMillis(limits.ttlMaxMillis())
                        .setCallsInFlightMax(callsInFlightMax)
                        .build(),
                (out, welcome) -> out.frame.setWelcome(welcome));
        return attached;
    }

    private void submit(Session attached, Call call) {
        try {
            switch (call.getCallCase()) {
                case ACQUIRE -> {
                    LockEngine.Asked asked = codec.acquire(call.getAcquire(), attached.id(), attached.owner());
                    answer(call, engine.acquire(attached, asked), (reply, answer) -> {
                        if (answer instanceof Answer.WaitEnded over) {
                            waitEnded(asked.id().number(), over.end());
                        }
                        reply.setAcquire(answers.acquire(asked.lock(), answer));
                    });
                }
                case ACCEPT -> {
                    LockName name = ProtoCodec.lock(call.getAccept().getLock());
                    GrantId grant = ProtoCodec.grant(call.getAccept().getGrantId());
                    answer(
                            call,
                            engine.accept(
                                    attached,
                                    name,
                                    grant,
                                    ProtoCodec.token(call.getAccept().getToken())),
                            (reply, answer) -> reply.setAccept(answers.accept(name, answer)));
                }
                case RENEW ->
                    answer(
                            call,
                            engine.execute(new Renew(
                                    ProtoCodec.lock(call.getRenew().getLock()),
                                    ProtoCodec.grant(call.getRenew().getGrantId()),
                                    ProtoCodec.token(call.getRenew().getToken()),
                                    attached.id())),
                            (reply, answer) -> reply.setRenew(answers.renew(answer)));
                case RELEASE ->
                    answer(
                            call,
                            engine.execute(new Release(
                                    ProtoCodec.lock(call.getRelease().getLock()),
                                    ProtoCodec.grant(call.getRelease().getGrantId()),
                                    ProtoCodec.token(call.getRelease().getToken()),
                                    attached.id())),
                            (reply, answer) -> reply.setRelease(answers.release(answer)));
                case LEAVE ->
                    answer(
                            call,
                            engine.execute(new Leave(
                                    ProtoCodec.lock(call.getLeave().getLock()),
                                    new RequestId(attached.id(), call.getLeave().getRequestId()),
                                    Long.MAX_VALUE)),
                            (reply, answer) -> reply.setLeave(answers.leave(answer)));
                case RESUME ->
                    answer(
                            call,
                            engine.resume(
                                    attached,
                                    ProtoCodec.lock(call.getResume().getLock()),
                                    ProtoCodec.grant(call.getResume().getGrantId()),
                                    ProtoCodec.token(call.getResume().getToken())),
                            (reply, answer) -> reply.setResume(answers.resume(answer)));
                case DESCRIBE ->
                    answer(
                            call,
                            engine.execute(new Describe(
                                    ProtoCodec.lock(call.getDescribe().getLock()))),
                            (reply, answer) -> reply.setDescribe(answers.describe(answer)));
                case CALL_NOT_SET ->
                    throw RejectedException.malformed(
                            "call " + call.getCallId() + " names no command this server knows");
            }
        } catch (RejectedException e) {
            reply(call, reply -> reply.setRejected(Answers.rejected(e.rejection())));
        }
    }

    private void answer(Call call, CompletionStage<Answer> stage, BiConsumer<Reply.Builder, Answer> encode) {
        var unused = stage.thenAccept(answer -> reply(call, reply -> {
            if (answer instanceof Answer.Refused refused) {
                reply.setRejected(Answers.rejected(refused.rejection()));
            } else {
                encode.accept(reply, answer);
            }
        }));
    }

    private void reply(Call call, Consumer<Reply.Builder> encode) {
        Reply.Builder reply = Reply.newBuilder().setCallId(call.getCallId());
        try {
            encode.accept(reply);
        } catch (RuntimeException e) {
            reply.setRejected(Answers.rejected(Answers.unsaid(e)));
        }
        gather(reply.build(), (out, said) -> {
            out.frame.addReplies(said);
            out.replies++;
        });
        engine.flushLater(this);
    }

    private void keepAlive(Session attached, long id) {
        var unused = engine.keepAlive(attached).whenComplete((lost, failure) -> {
            if (failure != null) {
                inFlight.decrementAndGet();
            } else {
                KeepAliveReply.Builder reply = KeepAliveReply.newBuilder().setKeepAliveId(id);
                lost.forEach(lease -> reply.addLost(lostEvent(lease.lock(), lease.grant(), LostReason.LOST_EXPIRED)));
                gather(reply.build(), SessionStream::addKeepAlive);
            }
            flush();
        });
    }

    /** A frame has room for one: the newer says all that the older does, and what the older lost stays lost. */
    private static void addKeepAlive(Gathered out, KeepAliveReply reply) {
        out.frame.setKeepAlive(
                reply.toBuilder().addAllLost(out.frame.getKeepAlive().getLostList()));
        out.replies++;
    }

    @Override
    public void onError(Throwable broken) {
        detach();
    }

    @Override
    public void onCompleted() {
        detach();
        synchronized (lock) {
            halfClosed = true;
        }
        flush();
    }

    private void detach() {
        synchronized (lock) {
            ended = ended || out.isCancelled();
        }
        Session attached = session;
        if (attached != null) {
            engine.detach(attached);
        }
    }

    // ---- from the engine ----

    @Override
    public void offered(LockName name, Grant grant, long offerMillis, long seenSentNanos) {
        Event.Builder event = Event.newBuilder()
                .setOffered(OfferedEvent.newBuilder()
                        .setRequestId(grant.request().id().number())
                        .setGranted(answers.granted(name, grant))
                        .setOfferMillis(offerMillis));
        gather(event.build(), (out, offer) -> {
            out.frame.setSeenSentNanos(
                    out.offers == 0 ? seenSentNanos : older(out.frame.getSeenSentNanos(), seenSentNanos));
            out.offers++;
            out.frame.addEvents(offer);
        });
    }

    /** One echo serves all offers of a frame: the oldest, and none when any has none. */
    private static long older(long one, long other) {
        return one == 0 || other == 0 ? 0 : Math.min(one, other);
    }

    @Override
    public void lost(LockName name, GrantId grant, End end) {
        gather(
                Event.newBuilder()
                        .setLost(lostEvent(name, grant, Answers.lostReason(end)))
                        .build(),
                (out, event) -> out.frame.addEvents(event));
    }

    @Override
    public void waitEnded(long requestNumber, End end) {
        gather(
                Event.newBuilder()
                        .setWaitEnded(WaitEndedEvent.newBuilder()
                                .setRequestId(requestNumber)
                                .setEnd(Answers.waitEnd(end)))
                        .build(),
                (out, event) -> out.frame.addEvents(event));
    }

    @Override
    public void superseded() {
        end(new Rejection(Reason.SESSION_UNKNOWN, "a newer stream of this session has taken over"));
    }

    private static LostEvent lostEvent(LockName name, GrantId grant, LostReason reason) {
        return LostEvent.newBuilder()
                .setLock(name.value())
                .setGrantId(ByteString.copyFrom(grant.toBytes()))
                .setReason(reason)
                .build();
    }

    // ---- out ----

    private <T extends MessageLite> void gather(T part, BiConsumer<Gathered, T> add) {
        synchronized (lock) {
            if (ended) {
                return;
            }
            if (gathered.isFull()) {
                waiting.add(gathered);
                gathered = new Gathered();
            }
            add.accept(gathered, part);
            gathered.bytes += part.getSerializedSize();
            gathered.empty = false;
        }
    }

    @Override
    public void flush() {
        synchronized (lock) {
            if (ended) {
                return;
            }
            while (!waiting.isEmpty() && out.isReady()) {
                send(waiting.remove());
            }
            if (waiting.isEmpty() && !gathered.empty && out.isReady()) {
                Gathered full = gathered;
                gathered = new Gathered();
                send(full);
            }
            if (frameOwed && inFlight.get() < callsInFlightMax && waiting.isEmpty()) {
                frameOwed = false;
                out.request(1);
            }
            if (halfClosed && inFlight.get() == 0 && waiting.isEmpty() && gathered.empty) {
                ended = true;
                out.onCompleted();
            }
        }
    }

    private void send(Gathered full) {
        out.onNext(full.frame.build());
        inFlight.addAndGet(-full.replies);
    }

    private void end(Rejection rejection) {
        synchronized (lock) {
            if (!ended) {
                ended = true;
                out.onError(Rejections.toStatus(rejection));
            }
        }
        Session attached = session;
        if (attached != null) {
            engine.detach(attached);
        }
    }
}
