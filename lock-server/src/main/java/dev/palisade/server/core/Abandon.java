package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import java.util.Optional;

/**
 * Sent by a server for a client whose stream broke: ends the grant unless a newer stream of its session took it over.
 *
 * @param sessionGen the generation of the broken stream
 * @param cause why it ends
 */
public record Abandon(LockName lock, GrantId grant, long sessionGen, EndCause cause) implements Command {
    @Override
    public Answer decide(Step step) {
        Optional<Grant> held = step.state().holder(grant);
        if (held.isEmpty() || held.get().request().sessionGen() > sessionGen) {
            return new Answer.Abandoned(false);
        }
        step.endGrant(held.get(), End.ABANDONED, cause.words());
        return new Answer.Abandoned(true);
    }
}
