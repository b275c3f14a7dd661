package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.SessionId;
import java.util.Optional;

/** Gives a lease back, or declines an offer. Only its holder can; saying it twice is saying it once. */
public record Release(LockName lock, GrantId grant, FencingToken token, SessionId session) implements Command {
    @Override
    public Answer decide(Step step) {
        Optional<Tombstone> ended = step.state().tombstone(grant);
        if (ended.isPresent()
                && ended.get().end() == End.RELEASED
                && ended.get().request().session().equals(session)) {
            return new Answer.Released();
        }
        Optional<Offer> offer = step.state().offer(grant);
        if (offer.isPresent()
                && offer.get().token().equals(token)
                && offer.get().request().id().session().equals(session)) {
            step.end(offer.get().request(), token.value(), End.RELEASED, 0);
            return new Answer.Released();
        }
        return HolderCheck.require(step, grant, token, session, "release", held -> {
            step.endGrant(held, End.RELEASED);
            return new Answer.Released();
        });
    }
}
