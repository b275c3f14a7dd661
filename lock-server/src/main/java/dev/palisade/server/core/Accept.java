package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.SessionId;
import java.util.Optional;

/**
 * Makes an offer a lease. An offer that lapsed and was made again has another token: accepting the first is not accepting
 * the second.
 *
 * @param sessionGen the stream that accepts; an older one, on which the wait began, can then no longer end the lease. 0 when
 *     there is none
 */
public record Accept(LockName lock, GrantId grant, FencingToken token, SessionId session, long sessionGen)
        implements Command {
    @Override
    public Answer decide(Step step) {
        Optional<Offer> offer = step.state().offer(grant);
        if (offer.isPresent() && offer.get().request().id().session().equals(session)) {
            if (!offer.get().token().equals(token)) {
                return HolderCheck.otherToken(step, grant, token, "accept");
            }
            step.emit(new LockEvent.Accepted(grant, step.nowMillis()));
            step.adoptGeneration(offer.get().request(), sessionGen);
            return new Answer.Granted(step.state().holder(grant).orElseThrow());
        }
        Optional<Grant> held = step.state().holder(grant);
        if (held.isPresent() && held.get().request().id().session().equals(session)) {
            if (!held.get().token().equals(token)) {
                return HolderCheck.otherToken(step, grant, token, "accept");
            }
            step.adoptGeneration(held.get().request(), sessionGen);
            return new Answer.Granted(step.renew(step.state().holder(grant).orElseThrow()));
        }
        Optional<Waiter> waiter = step.state().waiter(grant);
        if (waiter.isPresent() && waiter.get().request().id().session().equals(session)) {
            return new Answer.Queued(
                    step.state().position(waiter.get().request().id()));
        }
        return HolderCheck.refused(step, grant, session, "accept");
    }
}
