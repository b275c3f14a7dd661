package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.SessionId;

/** Makes a lease last its full length from now. */
public record Renew(LockName lock, GrantId grant, FencingToken token, SessionId session) implements Command {
    @Override
    public Answer decide(Step step) {
        return HolderCheck.require(step, grant, token, session, "renew", held -> new Answer.Renewed(step.renew(held)));
    }
}
