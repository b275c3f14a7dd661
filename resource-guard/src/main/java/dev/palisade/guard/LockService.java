package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
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

    /**
     * Tokens of the newest grants of {@code lock} that the lock service remembers, rising and each once. No grant between the
     * first and the last of them is left out. May be empty: the lock service need not remember any.
     */
    CompletionStage<List<Long>> recentTokens(LockName lock);

    /** Ends {@code lease}. */
    CompletionStage<Void> release(LeaseReply.Granted lease);

    /**
     * Reports refused calls, so that the lock service can explain them. Best effort: the guard sends a report that failed again later,
     * merged with newer refusals, and drops the oldest when they become too many.
     *
     * @param guard what the guard protects and its process, for people; 1 to 256 bytes
     * @param refused 1 to 100
     * @return whether the lock service takes reports: after false the guard sends none for 10 minutes. By default false
     */
    default CompletionStage<Boolean> reportRefusals(String guard, List<RefusedCalls> refused) {
        return CompletableFuture.completedStage(false);
    }

    /**
     * Calls that a guard refused, equal but for their times.
     *
     * @param presentedToken that of the refused calls
     * @param markToken the larger token that the guard had seen; empty: it refused for another reason
     * @param markRaisedAgo how long ago it first saw that token; empty: not known
     * @param firstAgo how long ago it refused the first of the calls, at most 24 h
     * @param lastAgo how long ago it refused the last of them, at most 24 h
     * @param count how many calls, 1 or more
     */
    record RefusedCalls(
            LockName lock,
            String resource,
            Reason reason,
            long presentedToken,
            OptionalLong markToken,
            Optional<Duration> markRaisedAgo,
            Duration firstAgo,
            Duration lastAgo,
            long count) {}

    /**
     * Request of a guard for one EXCLUSIVE lease of its own.
     *
     * @param id the same for a repetition, another for each new request
     * @param age since the request was first sent; 0 or more
     * @param ttl 1 s to 5 min
     * @param owner the guard's process, for people; at most 256 bytes
     * @param purpose what the lease is for; at most 256 bytes
     */
    record LeaseRequest(LockName lock, RequestId id, Duration age, Duration ttl, String owner, String purpose) {}

    /** Outcome of a {@link LeaseRequest}. */
    sealed interface LeaseReply {
        /** The lease, and all that is needed to renew and to release it. */
        record Granted(LockName lock, SessionId session, FencingToken token, GrantId grant) implements LeaseReply {}

        /**
         * Not granted.
         *
         * @param holder empty while no holder stands in the way, as during a lock-delay
         */
        record Busy(Optional<Holder> holder) implements LeaseReply {}

        /** The lease that stands in the way; its texts are its holder's own words. */
        record Holder(FencingToken token, String owner, String purpose, Duration held) {}
    }
}
