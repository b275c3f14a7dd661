package dev.palisade.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.Int32Value;
import com.google.protobuf.StringValue;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.OfferedEvent;
import dev.palisade.proto.v1.Queued;
import dev.palisade.proto.v1.Rejected;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.proto.v1.TimedOut;
import dev.palisade.proto.v1.Welcome;
import io.grpc.Attributes;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A scripted server: it records all frames and replies to each call by a script; null is no reply. */
final class ScriptedServer extends LocksGrpc.LocksImplBase implements AutoCloseable {
    static final long TTL_MILLIS = 9_000;

    final List<Link> links = new CopyOnWriteArrayList<>();
    private final List<ManagedChannel> channels = new CopyOnWriteArrayList<>();
    /** How many connections it has taken. */
    final AtomicInteger connections = new AtomicInteger();
    /** How many health checks it has got. */
    final AtomicInteger healthChecks = new AtomicInteger();

    volatile boolean welcoming = true;
    volatile boolean answersHealthChecks = true;
    volatile boolean answersKeepAlives = true;
    /** Whether its health says so. */
    volatile boolean active;
    /** Whether its store is up. */
    volatile boolean up = true;
    /** Identity of its process. */
    volatile String identity = "server-" + UUID.randomUUID();
    /** Ends each stream at its hello. */
    volatile @Nullable Rejection refusal;

    volatile int callsInFlightMax = 10_000;
    volatile int resumeManyMax;
    volatile boolean knowsRenewsNothing = true;
    /** What each reply to a keep-alive says. */
    volatile long recoveringMillis;

    volatile int turnsMax = FencingToken.PER_GRANT;
    volatile Function<Call, Reply.@Nullable Builder> script = this::grantAll;

    private final String name = "scripted-" + UUID.randomUUID();
    private final Server server;
    private volatile Granted offered = Granted.getDefaultInstance();
    private final AtomicLong grants = new AtomicLong();

    ScriptedServer() {
        try {
            server = InProcessServerBuilder.forName(name)
                    .directExecutor()
                    .addService(this)
                    .addService(ServerServiceDefinition.builder("grpc.health.v1.Health")
                            .addMethod(SpareConnections.CHECK, ServerCalls.asyncUnaryCall(this::health))
                            .build())
                    .addTransportFilter(new ServerTransportFilter() {
                        @Override
                        public Attributes transportReady(Attributes attributes) {
                            connections.incrementAndGet();
                            return attributes;
                        }
                    })
                    .build()
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    ManagedChannel channel(String address) {
        ManagedChannel channel =
                InProcessChannelBuilder.forName(name).directExecutor().build();
        channels.add(channel);
        return channel;
    }

    private void health(StringValue service, StreamObserver<Int32Value> out) {
        healthChecks.incrementAndGet();
        if (answersHealthChecks) {
            out.onNext(Int32Value.of(
                    active && service.getValue().equals(LocksGrpc.SERVICE_NAME) ? SpareConnections.SERVING : 2));
            out.onCompleted();
        }
    }

    @Override
    public void store(StoreRequest request, StreamObserver<StoreReply> out) {
        out.onNext(StoreReply.newBuilder().setUp(up).setServer(identity).build());
        out.onCompleted();
    }

    @Override
    public StreamObserver<ClientFrame> session(StreamObserver<ServerFrame> out) {
        Link link = new Link(out);
        links.add(link);
        return link;
    }

    @Override
    public void close() {
        channels.forEach(ManagedChannel::shutdownNow);
        server.shutdownNow();
    }

    /** The newest stream. */
    Link link() {
        return links.get(links.size() - 1);
    }

    // ---- scripts

    Reply.Builder grantAll(Call call) {
        return switch (call.getCallCase()) {
            case ACQUIRE -> granted(grant(call.getAcquire()));
            case ACCEPT -> accepted(offered);
            case RENEW -> {
                Reply.Builder reply = Reply.newBuilder();
                reply.getRenewBuilder().setTtlMillis(TTL_MILLIS);
                yield reply;
            }
            case RELEASE -> {
                Reply.Builder reply = Reply.newBuilder();
                reply.getReleaseBuilder();
                yield reply;
            }
            case LEAVE -> {
                Reply.Builder reply = Reply.newBuilder();
                reply.getLeaveBuilder().setWasWaiting(true);
                yield reply;
            }
            case RESUME -> {
                Reply.Builder reply = Reply.newBuilder();
                reply.getResumeBuilder().setTtlMillis(TTL_MILLIS);
                yield reply;
            }
            case RESUME_MANY -> {
                Reply.Builder reply = Reply.newBuilder();
                reply.getResumeManyBuilder();
                yield reply;
            }
            case DESCRIBE -> {
                Reply.Builder reply = Reply.newBuilder();
                reply.getDescribeBuilder().setLock(call.getDescribe().getLock());
                yield reply;
            }
            case CALL_NOT_SET -> rejected("MALFORMED_REQUEST");
        };
    }

    /** Everybody waits; offers are the test's to push. */
    Reply.Builder queueAll(Call call) {
        return call.hasAcquire() ? queued() : grantAll(call);
    }

    /** From now on no lease is confirmed, on no stream. */
    void fallSilent() {
        answersKeepAlives = false;
        script = silentOn(Call::hasResume, this::grantAll);
    }

    /** As {@code otherwise}, but the calls that match get no reply. */
    static Function<Call, Reply.@Nullable Builder> silentOn(
            Predicate<Call> which, Function<Call, Reply.@Nullable Builder> otherwise) {
        return call -> which.test(call) ? null : otherwise.apply(call);
    }

    static Reply.Builder queued() {
        return Reply.newBuilder()
                .setAcquire(
                        AcquireReply.newBuilder().setQueued(Queued.newBuilder().setPosition(1)));
    }

    static Reply.Builder timedOut() {
        return Reply.newBuilder().setAcquire(AcquireReply.newBuilder().setTimedOut(TimedOut.getDefaultInstance()));
    }

    static Reply.Builder granted(Granted granted) {
        return Reply.newBuilder().setAcquire(AcquireReply.newBuilder().setGranted(granted));
    }

    static Reply.Builder accepted(Granted granted) {
        Reply.Builder reply = Reply.newBuilder();
        reply.getAcceptBuilder().setGranted(granted);
        return reply;
    }

    static Reply.Builder rejected(String reason) {
        return Reply.newBuilder()
                .setRejected(Rejected.newBuilder().setReason(reason).setMessage("scripted"));
    }

    /** A grant for this acquire. */
    Granted grant(AcquireRequest acquire) {
        return grant(acquire.getLock(), acquire.getMode(), acquire.getTtlMillis(), acquire.getTurns()).toBuilder()
                .setLockAtLeastForMillis(acquire.getLockAtLeastForMillis())
                .build();
    }

    Granted grant(String lock) {
        return grant(lock, Mode.EXCLUSIVE, 0, 1);
    }

    private Granted grant(String lock, Mode mode, long ttlMillis, int turns) {
        long number = grants.getAndIncrement();
        long token = number * FencingToken.PER_GRANT + 1;
        Granted.Builder granted = Granted.newBuilder()
                .setLock(lock)
                .setMode(mode)
                .setToken(token)
                .setGrantId(ProtoMapper.bytes(new GrantId(1, number * FencingToken.PER_GRANT)))
                .setTtlMillis(ttlMillis == 0 ? TTL_MILLIS : ttlMillis)
                .setSequencer(ByteString.copyFromUtf8("signed " + token));
        for (int turn = 1; turn < Math.min(turns, turnsMax); turn++) {
            granted.addTurns(ByteString.copyFromUtf8("signed " + (token + turn)));
        }
        return granted.build();
    }

    /** One stream. */
    final class Link implements StreamObserver<ClientFrame> {
        final List<ClientFrame> frames = new CopyOnWriteArrayList<>();
        private final StreamObserver<ServerFrame> out;
        volatile boolean cancelled;
        volatile boolean completed;

        Link(StreamObserver<ServerFrame> out) {
            this.out = out;
        }

        @Override
        public void onNext(ClientFrame frame) {
            frames.add(frame);
            Rejection refused = refusal;
            if (frame.hasHello() && refused != null) {
                fail(Rejections.toStatus(refused));
                return;
            }
            if (frame.hasHello() && welcoming) {
                welcome();
            }
            if (frame.hasKeepAlive() && answersKeepAlives) {
                long id = frame.getKeepAlive().getKeepAliveId();
                boolean renewed = knowsRenewsNothing && !frame.getKeepAlive().getRenewsNothing();
                push(ServerFrame.newBuilder()
                        .setKeepAlive(KeepAliveReply.newBuilder()
                                .setKeepAliveId(id)
                                .setRenewedId(renewed ? id : 0)
                                .setRecoveringMillis(recoveringMillis)));
            }
            ServerFrame.Builder replies = ServerFrame.newBuilder();
            for (Call call : frame.getCallsList()) {
                Reply.Builder reply = script.apply(call);
                if (reply != null) {
                    replies.addReplies(reply.setCallId(call.getCallId()));
                }
            }
            if (replies.getRepliesCount() > 0) {
                push(replies);
            }
        }

        @Override
        public void onError(Throwable failure) {
            cancelled = true;
        }

        @Override
        public void onCompleted() {
            completed = true;
            out.onCompleted();
        }

        synchronized void push(ServerFrame.Builder frame) {
            if (!cancelled) {
                out.onNext(frame.build());
            }
        }

        void welcome() {
            push(ServerFrame.newBuilder()
                    .setWelcome(Welcome.newBuilder()
                            .setIssuer("scripted")
                            .setGraceMillis(1_000)
                            .setCallsInFlightMax(callsInFlightMax)
                            .setResumeManyMax(resumeManyMax)
                            .setKnowsRenewsNothing(knowsRenewsNothing)));
        }

        void answer(Call call, Reply.Builder reply) {
            push(ServerFrame.newBuilder().addReplies(reply.setCallId(call.getCallId())));
        }

        void offer(long requestId, Granted granted, long offerMillis, long seenSentNanos) {
            offered = granted;
            push(ServerFrame.newBuilder()
                    .setSeenSentNanos(seenSentNanos)
                    .addEvents(Event.newBuilder()
                            .setOffered(OfferedEvent.newBuilder()
                                    .setRequestId(requestId)
                                    .setGranted(granted)
                                    .setOfferMillis(offerMillis))));
        }

        void breakOff() {
            fail(Status.UNAVAILABLE.withDescription("scripted").asRuntimeException());
        }

        void fail(StatusRuntimeException status) {
            if (!cancelled) {
                cancelled = true;
                out.onError(status);
            }
        }

        List<Call> calls(Call.CallCase which) {
            return frames.stream()
                    .flatMap(frame -> frame.getCallsList().stream())
                    .filter(call -> call.getCallCase() == which)
                    .toList();
        }

        Call last(Call.CallCase which) {
            List<Call> calls = calls(which);
            if (calls.isEmpty()) {
                throw new AssertionError("no " + which + " among " + frames);
            }
            return Objects.requireNonNull(calls.get(calls.size() - 1));
        }

        long keepAlives() {
            return frames.stream().filter(ClientFrame::hasKeepAlive).count();
        }

        long newestSentNanos() {
            return frames.get(frames.size() - 1).getSentNanos();
        }
    }
}
