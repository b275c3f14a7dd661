package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import java.util.Map;

/**
 * The recorded end of a request, so that a delayed duplicate gets this end and not a new grant.
 *
 * @param token 0 when it never had one
 * @param detail who ended it and why, when a person did; the cause of an abandoned lease; else empty
 */
public record Tombstone(RequestId request, GrantId grant, long token, End end, long endedAtMillis, String detail) {
    Tombstone(RequestId request, GrantId grant, long token, End end, long endedAtMillis) {
        this(request, grant, token, end, endedAtMillis, "");
    }

    /**
     * What an acquire of this request is answered from now on.
     *
     * @throws IllegalStateException for a try that failed: who holds the lock then is asked anew each time
     */
    public Answer answer(LockName lock) {
        return switch (end) {
            case LEFT, TIMED_OUT, DROPPED -> new Answer.WaitEnded(end);
            case RELEASED, EXPIRED, ABANDONED, FORCE_RELEASED ->
                new Answer.Refused(new Rejection(
                        Reason.LEASE_EXPIRED,
                        "request " + Long.toUnsignedString(request.number()) + " was granted and has ended (" + end
                                + "); acquire again with a new request id",
                        Map.of(Rejection.LOCK, lock.value())));
            case BUSY -> throw new IllegalStateException("a try that failed says who holds the lock");
        };
    }
}
