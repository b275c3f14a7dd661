package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import java.util.Optional;

/**
 * Tells whether the lease that a sequencer names is alive at this moment. A lease that is offered is: its client may use it before it
 * accepts. What made the sequencer authentic is not asked here.
 */
public record CheckSequencer(LockName lock, GrantId grant, FencingToken token) implements Command {
    @Override
    public Answer decide(Step step) {
        Optional<FencingToken> alive = step.state()
                .holder(grant)
                .map(Grant::token)
                .or(() -> step.state().offer(grant).map(Offer::token));
        if (alive.isEmpty()
                && step.recovering()
                && step.state().tombstone(grant).isEmpty()) {
            return step.refuseRecovering(); // Its holder may come back yet.
        }
        return new Answer.Checked(alive.filter(token::equals).isPresent());
    }
}
