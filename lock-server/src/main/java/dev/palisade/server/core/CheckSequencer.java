package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import java.util.Optional;

/** Tells whether the lease that a sequencer names is alive at this moment. What made the sequencer authentic is not asked here. */
public record CheckSequencer(LockName lock, GrantId grant, FencingToken token) implements Command {
    @Override
    public Answer decide(Step step) {
        Optional<Grant> held = step.state().holder(grant);
        if (held.isEmpty() && step.recovering() && step.state().tombstone(grant).isEmpty()) {
            return step.refuseRecovering(); // Its holder may come back yet.
        }
        return new Answer.Checked(
                held.filter(lease -> lease.token().equals(token)).isPresent());
    }
}
