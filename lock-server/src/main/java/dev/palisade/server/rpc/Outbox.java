package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.ReleaseRequestedEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.Welcome;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * What one stream still has to say, gathered into frames, and the only one who says it. Asks the transport for the next
 * client frame only while few enough calls are unanswered and nothing waits to be sent, so what can gather is bounded. Used
 * by several threads; never blocks for long.
 */
final class Outbox {
    /** A client refuses a frame of more than 4 MiB. */
    private static final int FRAME_BYTES_FULL = 1 << 20;

    /** Given to the transport and not taken: more than gRPC calls ready. */
    private static final int UNREAD_BYTES = 64 << 10;

    private final ServerCallStreamObserver<ServerFrame> out;
    private final int callsInFlightMax;
    private final LongConsumer unsent;
    /** Frames that are full and wait for the transport; the one being filled comes after them. */
    private final Deque<Gathered> full = new ArrayDeque<>();

    /** By grant: anybody may ask any number of times, and a client that does not read hears the last. */
    private final Map<ByteString, ReleaseRequestedEvent> releaseRequests = new LinkedHashMap<>();

    private Gathered gathered = new Gathered();
    private int inFlight;
    private boolean frameOwed;
    private boolean halfClosed;
    private boolean ended;
    /** Given to the transport since that last took everything. */
    private long handedBytes;
    /** Of all frames that wait here. */
    private long gatheredBytes;

    private volatile long unsentBytes;

    private static final class Gathered {
        final ServerFrame.Builder frame = ServerFrame.newBuilder();
        int repliedCalls;
        int offers;
        int bytes;
        boolean empty = true;
    }

    /** @param unsent is told by how many bytes more or less wait to be sent; under this one's lock */
    Outbox(ServerCallStreamObserver<ServerFrame> out, int callsInFlightMax, LongConsumer unsent) {
        this.out = out;
        this.unsent = unsent;
        this.callsInFlightMax = callsInFlightMax;
        out.disableAutoRequest();
        out.setOnReadyHandler(this::flush);
        out.request(1);
    }

    /** A frame came with so many calls; the next is asked for when enough of them are answered. */
    synchronized void took(int calls) {
        inFlight += calls;
        frameOwed = true;
    }

    /** Runs {@code submission} so that no event of another thread is gathered before a reply that it gathers itself. */
    synchronized void inOrder(Runnable submission) {
        submission.run();
    }

    synchronized void welcome(Welcome.Builder welcome) {
        room(0).frame.setWelcome(welcome);
    }

    /** Before the welcome: sends an empty frame as a sign of life. Returns whether the stream is open. */
    synchronized boolean sendSign() {
        if (!ended && out.isReady()) {
            out.onNext(ServerFrame.getDefaultInstance());
        }
        return !ended && !halfClosed;
    }

    /** @param calls number of calls in flight that end with it */
    synchronized void reply(Reply reply, int calls) {
        Gathered into = room(reply.getSerializedSize());
        into.frame.addReplies(reply);
        into.repliedCalls += calls;
    }

    /** A frame has room for one: the newer says all that the older does, and what the older lost stays lost. */
    synchronized void keepAlive(KeepAliveReply reply) {
        Gathered into = room(reply.getSerializedSize());
        KeepAliveReply before = into.frame.getKeepAlive();
        boolean isBeforeNewer = Long.compareUnsigned(before.getRenewedId(), reply.getRenewedId()) > 0;
        into.frame.setKeepAlive(reply.toBuilder()
                .addAllLost(before.getLostList())
                .setRenewedId((isBeforeNewer ? before : reply).getRenewedId()));
        into.repliedCalls++;
    }

    /** A call that gets no reply, because there is nothing true to say. */
    synchronized void noReply() {
        inFlight--;
    }

    synchronized void event(Event event) {
        room(event.getSerializedSize()).frame.addEvents(event);
    }

    /** Bounded by the leases of the stream, however many requests for release come. */
    synchronized void releaseRequested(ReleaseRequestedEvent asked) {
        if (!ended) {
            releaseRequests.put(asked.getGrantId(), asked);
        }
    }

    /** One echo serves all offers of a frame: the oldest, and none when any has none. */
    synchronized void offer(Event offer, long seenSentNanos) {
        Gathered into = room(offer.getSerializedSize());
        long before = into.frame.getSeenSentNanos();
        boolean none = seenSentNanos == 0 || (into.offers > 0 && before == 0);
        into.frame
                .setSeenSentNanos(none ? 0 : into.offers == 0 ? seenSentNanos : Math.min(before, seenSentNanos))
                .addEvents(offer);
        into.offers++;
    }

    /** The frame that has room for so many more bytes. What is said after the end goes nowhere. */
    private Gathered room(int bytes) {
        if (ended) {
            return new Gathered();
        }
        if (gathered.bytes >= FRAME_BYTES_FULL) {
            full.add(gathered);
            gathered = new Gathered();
        }
        gathered.bytes += bytes;
        gathered.empty = false;
        gatheredBytes += bytes;
        countUnsent();
        return gathered;
    }

    /** Sends what the transport takes now. */
    synchronized void flush() {
        if (ended) {
            return;
        }
        if (out.isReady()) {
            handedBytes = 0;
        }
        while (!full.isEmpty() && out.isReady()) {
            send(full.remove());
        }
        while (full.isEmpty() && out.isReady() && !(gathered.empty && releaseRequests.isEmpty())) {
            gatherReleaseRequests();
            Gathered last = gathered;
            gathered = new Gathered();
            send(last);
        }
        if (frameOwed && inFlight < callsInFlightMax && full.isEmpty()) {
            frameOwed = false;
            out.request(1);
        }
        if (halfClosed && inFlight == 0 && full.isEmpty() && gathered.empty && releaseRequests.isEmpty()) {
            ended = true;
            out.onCompleted();
        }
        countUnsent();
    }

    /** Waits here, or in the transport: of the latter all that it was given before it last took no more. */
    private void countUnsent() {
        long now = ended ? 0 : gatheredBytes + handedBytes;
        long more = now - unsentBytes;
        if (more != 0) {
            unsentBytes = now;
            unsent.accept(more);
        }
    }

    long unsentBytes() {
        return unsentBytes;
    }

    private void letGo() {
        ended = true;
        full.clear();
        gathered = new Gathered();
        releaseRequests.clear();
        countUnsent();
    }

    /** As many as the frame has room for. */
    private void gatherReleaseRequests() {
        for (Iterator<ReleaseRequestedEvent> asked = releaseRequests.values().iterator();
                asked.hasNext() && gathered.bytes < FRAME_BYTES_FULL; ) {
            event(Event.newBuilder().setReleaseRequested(asked.next()).build());
            asked.remove();
        }
    }

    private void send(Gathered frame) {
        out.onNext(frame.frame.build());
        inFlight -= frame.repliedCalls;
        gatheredBytes -= frame.bytes;
        handedBytes += frame.bytes;
    }

    /** The client says no more; the stream ends when everything is answered. */
    synchronized void halfClose() {
        halfClosed = true;
        flush();
    }

    /** The call is closed or cancelled: the transport takes nothing more. */
    synchronized void closed() {
        letGo();
    }

    synchronized boolean isEnded() {
        return ended;
    }

    /** Returns whether the transport holds much that the client has not read, behind which the status waits. */
    synchronized boolean end(StatusRuntimeException status) {
        if (ended) {
            return false;
        }
        boolean unread = !out.isReady() && handedBytes >= UNREAD_BYTES;
        letGo();
        out.onError(status);
        return unread;
    }
}
