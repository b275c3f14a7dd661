package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.SessionId;
import java.time.Duration;
import java.util.Optional;

/** Outcome of a {@link LeaseRequest}. */
public sealed interface LeaseReply {
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
