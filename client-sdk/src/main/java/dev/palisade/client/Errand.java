package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import org.jspecify.annotations.Nullable;

/**
 * Something asked of the server, and asked again on every new stream until it is answered or given up. In the loop
 * only. Subclasses say what is asked and what an answer means; sending and repeating is the session's business.
 */
abstract class Errand {
    private boolean done;

    @Nullable
    private SessionStream carrier;

    /** The call as of now, without its id. */
    abstract Call.Builder call(ClockReading now);

    /**
     * The answer on the stream of the last sending. It may be anything, also a reply to another kind of call.
     *
     * @param sent the moment before the last sending
     */
    abstract void answered(Reply reply, ClockReading sent);

    /** The client has ended; no answer will come. Called at most once, before {@link #markDone}. */
    void abandoned() {}

    /** Whether it goes before ordinary calls: those that keep or free a lock do. */
    boolean urgent() {
        return true;
    }

    /** Whether it is worth asking again on a new stream. */
    boolean outlivesStream() {
        return true;
    }

    /** The stream on which it is queued or in flight; null when it is neither. No stream carries it twice at a time. */
    @Nullable
    final SessionStream carrier() {
        return carrier;
    }

    final void carriedBy(@Nullable SessionStream stream) {
        carrier = stream;
    }

    final boolean done() {
        return done;
    }

    final void markDone() {
        done = true;
    }
}
