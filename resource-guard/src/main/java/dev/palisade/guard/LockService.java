package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.SignedSequencer;
import java.util.concurrent.CompletionStage;

/**
 * What a guard may ask of the lock service that signed the sequencers. Safe for use by several threads; answers in bounded
 * time. A stage fails with {@link dev.palisade.contract.RejectedException}; without an answer its reason is
 * STORE_UNAVAILABLE or OUTCOME_UNKNOWN.
 */
public interface LockService {
    /**
     * A fresh token of the lock's domain that no grant has: larger than every token granted there before, smaller than every
     * later one. A guard that cannot know its marks starts from it.
     */
    CompletionStage<Long> barrier(LockName lock);

    /** Whether the lease that this sequencer stands for is alive now: Chubby's check with the lock service. */
    CompletionStage<Boolean> isAlive(SignedSequencer sequencer);

    /**
     * Tries once, without waiting, to take the EXCLUSIVE lease that {@code request} describes: a guard's registration. The
     * same request id again is the same request and gets the same answer.
     */
    CompletionStage<LeaseReply> tryAcquire(LeaseRequest request);

    /** Renews {@code lease} for its full ttl. Fails with NOT_HOLDER, TOKEN_MISMATCH or LEASE_EXPIRED when it has ended. */
    CompletionStage<Void> renew(LeaseReply.Granted lease);

    /** Ends {@code lease}. */
    CompletionStage<Void> release(LeaseReply.Granted lease);
}
