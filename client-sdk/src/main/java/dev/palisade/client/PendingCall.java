package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import org.jspecify.annotations.Nullable;

/**
 * A call to the server that is sent again on every new stream until it has its reply or is finished without one. In the
 * loop only. Subclasses define its content and the meaning of its reply; {@link Session} and {@link SessionStream} send
 * and resend it.
 */
abstract class PendingCall {
    private boolean done;

    @Nullable
    private SessionStream stream;

    /** The call as of now, without its id. */
    abstract Call.Builder call(ClockReading now);

    /**
     * Handles the reply on the stream of the last sending. It may be any reply, also one to another kind of call.
     *
     * @param sent both clocks before the last sending
     */
    abstract void onReply(Reply reply, ClockReading sent);

    /** Handles the end of the client: no reply follows. Called at most once, before {@link #markDone}. */
    void onClientEnd() {}

    /** Whether it is sent before ordinary calls. That is so for calls that keep or free a lock. */
    boolean isUrgent() {
        return true;
    }

    /** Whether it is sent again on a new stream. */
    boolean outlivesStream() {
        return true;
    }

    /** The stream on which it is queued or in flight; null if it is neither. It is on one stream at a time, once. */
    @Nullable
    final SessionStream stream() {
        return stream;
    }

    final void assignTo(@Nullable SessionStream newStream) {
        stream = newStream;
    }

    final boolean done() {
        return done;
    }

    final void markDone() {
        done = true;
    }
}
