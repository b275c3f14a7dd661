package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;

/** Tells whether the lease that a sequencer names is alive at this moment. What made the sequencer authentic is not asked here. */
public record CheckSequencer(LockName lock, GrantId grant, FencingToken token) implements Command {
    @Override
    public Answer decide(Step step) {
        return new Answer.Checked(step.state()
                .holder(grant)
                .filter(held -> held.token().equals(token))
                .isPresent());
    }
}
