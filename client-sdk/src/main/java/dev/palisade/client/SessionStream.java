package dev.palisade.client;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.Welcome;
import io.grpc.Channel;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A session stream to one server, from hello to its end. It batches calls, sends keep-alives and detects a frozen link.
 * Callbacks of gRPC only submit tasks to the loop. It never reconnects: {@link Connection} does.
 */
final class SessionStream implements ClientResponseObserver<ClientFrame, ServerFrame> {
    private static final int CALLS_PER_FRAME_MAX = 256;

    private final Loop loop;
    private final Session session;
    private final Connection connection;
    private final SendTimeHistory sendTimes = new SendTimeHistory();
    private final KeepAlive keepAlive;
    private final LivenessDetector liveness;
    private final StoreOutageDetector storeOutage = new StoreOutageDetector();

    @Nullable
    private ClientCallStreamObserver<ClientFrame> requests;

    @Nullable
    private Outbox outbox;

    private TimerQueue.@Nullable ScheduledTask keepAliveTimer;
    private TimerQueue.@Nullable ScheduledTask livenessTimer;
    private int resumeManyMax;
    private boolean replied;
    private boolean flushPosted;
    private boolean active;
    private boolean ended;

    SessionStream(Loop loop, Session session, Connection connection, long callTimeoutNanos) {
        this.loop = loop;
        this.session = session;
        this.connection = connection;
        this.keepAlive = new KeepAlive(loop.now().nanos());
        this.liveness = new LivenessDetector(callTimeoutNanos);
    }

    void open(Channel channel, Hello hello) {
        LocksGrpc.newStub(channel).session(this);
        send(ClientFrame.newBuilder().setHello(hello), loop.now());
    }

    // ---- gRPC's threads

    @Override
    public void beforeStart(ClientCallStreamObserver<ClientFrame> stream) {
        requests = stream;
        stream.setOnReadyHandler(() -> loop.execute(this::flush));
    }

    @Override
    public void onNext(ServerFrame frame) {
        loop.execute(() -> received(frame));
    }

    @Override
    public void onError(Throwable failure) {
        loop.execute(() -> connection.broken(this, failure));
    }

    @Override
    public void onCompleted() {
        loop.execute(() -> connection.broken(this, null));
    }

    // ---- the loop

    boolean welcomed() {
        return outbox != null;
    }

    /** How many grants the server resumes in one call; 0 or less: none. */
    int resumeManyMax() {
        return resumeManyMax;
    }

    /** Whether the server sent a reply after the welcome. */
    boolean hasReplied() {
        return replied;
    }

    /** A reply to this keep-alive or a later one extends the leases that are held now. */
    long nextKeepAliveId() {
        return keepAlive.nextId();
    }

    void enqueue(PendingCall call) {
        if (outbox != null && call.stream() != this) {
            call.assignTo(this);
            outbox.add(call);
            postFlush();
        }
    }

    /** Adjusts the keep-alives after a change of the leases or pending acquires. */
    void demandChanged() {
        if (!welcomed() || ended) {
            return;
        }
        if (!session.needsKeepAlive()) {
            active = false;
            return;
        }
        if (!active) {
            active = true;
            keepAlive.activated(loop.now().nanos());
        }
        long due = keepAlive.dueNanos(session.smallestTtlMillis(), session.acquiring());
        // A timer that fires too early is set again; only one that would fire too late is moved.
        if (keepAliveTimer == null || keepAliveTimer.dueNanos() - due > 0) {
            loop.cancel(keepAliveTimer);
            keepAliveTimer = loop.scheduleAt(due, this::keepAliveDue);
        }
    }

    /** Ends the stream, and ignores its later frames. */
    void end(boolean halfClose) {
        ended = true;
        loop.cancel(keepAliveTimer);
        loop.cancel(livenessTimer);
        if (requests != null) {
            if (halfClose) {
                requests.onCompleted();
            } else {
                requests.cancel("given up by the client", null);
            }
        }
    }

    private void received(ServerFrame frame) {
        if (ended) {
            return;
        }
        if (!welcomed()) {
            if (isTakeoverSignal(frame)) {
                connection.takeoverSignalReceived(this);
                return;
            }
            if (!frame.hasWelcome()) {
                connection.broken(this, new IllegalStateException("the first frame has no welcome"));
                return;
            }
            welcome(frame.getWelcome());
        }
        if (frame.getRepliesCount() > 0 || frame.hasKeepAlive()) {
            replied = true;
            liveness.replied(loop.now().nanos());
        }
        if (frame.hasKeepAlive()) {
            KeepAliveReply reply = frame.getKeepAlive();
            session.keepAliveReplied(reply, keepAlive.replied(reply.getKeepAliveId(), reply.getRenewedId()));
        }
        for (Reply reply : frame.getRepliesList()) {
            replied(reply);
        }
        for (Event event : frame.getEventsList()) {
            session.onEvent(event, sendTimes.at(frame.getSeenSentNanos()));
        }
        Optional<Rejection> standby = standby(frame.getRepliesList());
        if (standby.isPresent()) {
            connection.broken(this, standby.get().asException());
        } else if (reportsStoreOutage(frame.getRepliesList())) {
            connection.leave(this, "the server cannot reach its store");
        }
    }

    private static boolean isTakeoverSignal(ServerFrame frame) {
        return !frame.hasWelcome()
                && !frame.hasKeepAlive()
                && frame.getRepliesCount() == 0
                && frame.getEventsCount() == 0;
    }

    /** The reply of a server that was deposed since it welcomed this stream. */
    private Optional<Rejection> standby(List<Reply> replies) {
        return replies.stream()
                .filter(Reply::hasRejected)
                .map(reply -> ProtoMapper.rejection(reply.getRejected()))
                .filter(rejection -> rejection.reason() == Reason.NOT_ACTIVE)
                .findFirst();
    }

    /** Why the server's store refuses, in its words; empty if it does not. */
    String storeRefusal() {
        return storeOutage.refusal();
    }

    private boolean reportsStoreOutage(List<Reply> replies) {
        boolean isOutage = false;
        for (Reply reply : replies) {
            if (reply.hasRejected()) {
                isOutage = storeOutage.refused(
                        ProtoMapper.rejection(reply.getRejected()), loop.now().nanos());
            } else {
                storeOutage.replied();
                isOutage = false;
            }
        }
        return isOutage;
    }

    private void welcome(Welcome welcome) {
        outbox = new Outbox(welcome.getCallsInFlightMax());
        resumeManyMax = welcome.getResumeManyMax();
        keepAlive.welcomed(welcome.getKnowsRenewsNothing());
        connection.welcomed(this);
        demandChanged();
    }

    private void replied(Reply reply) {
        Outbox.InFlightCall inFlight = outbox == null ? null : outbox.remove(reply.getCallId());
        if (inFlight == null || inFlight.call().done()) {
            session.strayReply(reply);
        } else {
            inFlight.call().assignTo(null);
            inFlight.call().onReply(reply, inFlight.sent());
        }
        postFlush();
    }

    private void postFlush() {
        // One frame carries all calls that are enqueued by then.
        if (!flushPosted) {
            flushPosted = true;
            loop.enqueue(this::flush);
        }
    }

    private void flush() {
        flushPosted = false;
        if (outbox == null || requests == null || ended) {
            return;
        }
        while (requests.isReady()) {
            ClockReading now = loop.now();
            List<Call> calls = outbox.take(now, CALLS_PER_FRAME_MAX);
            if (calls.isEmpty()) {
                break;
            }
            send(ClientFrame.newBuilder().addAllCalls(calls), now);
        }
        armLivenessTimer();
    }

    private void keepAliveDue() {
        keepAliveTimer = null;
        if (!session.needsKeepAlive()) {
            active = false;
            return;
        }
        ClockReading now = loop.now();
        session.checkDeadlines(now);
        if (ended || !session.needsKeepAlive()) {
            return;
        }
        if (now.nanos() - keepAlive.dueNanos(session.smallestTtlMillis(), session.acquiring()) >= 0) {
            // Sent even when the transport is not ready: it is small, and the missing reply shows that the link is
            // frozen.
            boolean renews = keepAlive.renews(session.smallestTtlMillis(), now.nanos());
            send(
                    ClientFrame.newBuilder()
                            .setKeepAlive(dev.palisade.proto.v1.KeepAlive.newBuilder()
                                    .setKeepAliveId(keepAlive.sent(now, renews))
                                    .setRenewsNothing(!renews)),
                    now);
            armLivenessTimer();
        }
        demandChanged();
    }

    private void send(ClientFrame.Builder frame, ClockReading now) {
        if (requests != null) {
            sendTimes.record(now);
            requests.onNext(frame.setSentNanos(now.nanos()).build());
        }
    }

    private void armLivenessTimer() {
        OptionalLong at = livenessDeadlineNanos();
        if (at.isPresent() && (livenessTimer == null || livenessTimer.dueNanos() - at.getAsLong() > 0)) {
            loop.cancel(livenessTimer);
            livenessTimer = loop.scheduleAt(at.getAsLong(), this::livenessDue);
        }
    }

    private void livenessDue() {
        livenessTimer = null;
        OptionalLong at = livenessDeadlineNanos();
        if (at.isPresent() && loop.now().nanos() - at.getAsLong() >= 0) {
            connection.broken(this, new IllegalStateException("the server stopped answering"));
        } else {
            armLivenessTimer();
        }
    }

    private OptionalLong livenessDeadlineNanos() {
        return liveness.deadlineNanos(keepAlive.oldestUnrepliedNanos(), oldestCallNanos(), session.smallestTtlMillis());
    }

    /** How long a reply has been due without any reply. */
    long silentNanos() {
        return liveness.silentNanos(
                keepAlive.oldestUnrepliedNanos(), oldestCallNanos(), loop.now().nanos());
    }

    private OptionalLong oldestCallNanos() {
        return outbox == null ? OptionalLong.empty() : outbox.oldestSentNanos();
    }
}
