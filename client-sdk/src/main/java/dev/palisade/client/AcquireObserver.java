package dev.palisade.client;

import dev.palisade.contract.LostReason;
import java.time.Duration;
import java.util.Optional;

/**
 * An observer of one acquire, and of the lease that comes of it. The rules of {@link ClientObserver} hold. Exactly one
 * of {@link #ended} and {@link #failed} is called, once; {@link #leaseEnded} once for each lease, also if a guard did
 * not claim for it.
 */
public interface AcquireObserver {
    /**
     * The trace context that the acquire carries to the lock server, as the header {@code traceparent} of W3C Trace
     * Context has it; empty for none. At most 128 characters; a longer one is not sent. Acquires that share a request
     * carry that of the first.
     */
    default String traceparent() {
        return "";
    }

    /**
     * The acquire has to wait: in the server's queue, or behind another acquire of this client. Called at most once.
     */
    default void queued() {}

    /** The lock is free, and the server offers it to this acquire. May be called again after an offer that lapsed. */
    default void offered() {}

    /** The acquire has this result. */
    default void ended(AcquireResult result) {}

    /** The acquire failed with an exception, such as {@link dev.palisade.contract.RejectedException}. */
    default void failed(RuntimeException failure) {}

    /**
     * The lease was released or lost.
     *
     * @param held from the grant to this end
     * @param lost why the lease was lost; empty when it was released
     */
    default void leaseEnded(Duration held, Optional<LostReason> lost) {}
}
