package dev.palisade.server.rpc;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;

/**
 * A recorder of acquires as spans. Its methods and those of {@link Trace} must be brief and must not block: they run on the threads of
 * the transport and of the store. Implementations are thread-safe, and throw nothing.
 */
public interface AcquireTracer {
    /** Longest trace context of a caller that is looked at, in characters. A {@code traceparent} of today has 55. */
    int TRACEPARENT_CHARS_MAX = 128;

    /** How an acquire ends without a lease and without a refusal. */
    enum Ending {
        /** Others hold the lock, and the caller does not wait. */
        BUSY,
        TIMED_OUT,
        /** An offer lapsed twice, or the caller was given up for dead. */
        DROPPED,
        /** The caller left the queue, or declined the offer. */
        LEFT,
        /** The stream or the call ended; a client that comes back begins another span. */
        DISCONNECTED
    }

    /** How an acquire came. */
    enum Transport {
        /** On a session stream, which many callers share: what is current there is of none of them. */
        STREAM,
        /** In a call of its own. */
        UNARY
    }

    /** @param traceparent as its caller sent it, possibly malformed; empty: none */
    Trace acquiring(LockName lock, Mode mode, Transport transport, String traceparent);

    /** The span of one acquire, until the first of {@link #granted}, {@link #refused} and {@link #ended}. What follows is ignored. */
    interface Trace {
        void queued();

        /** May be called again after an offer that lapsed. */
        void offered(FencingToken token);

        void granted(FencingToken token);

        void refused(Rejection why);

        void ended(Ending ending);
    }
}
