package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SessionId;

/** A newer stream of the session takes a grant over; after that the older one cannot abandon it. Renews it too. */
public record Resume(LockName lock, GrantId grant, FencingToken token, SessionId session, long sessionGen)
        implements Command {
    @Override
    public Answer decide(Step step) {
        return HolderCheck.require(step, grant, token, session, "resume", held -> {
            if (held.request().sessionGen() > sessionGen) {
                return step.refuse(
                        Reason.NOT_HOLDER, "cannot resume: a newer stream of this session has taken the grant over");
            }
            step.adoptGeneration(held.request(), sessionGen);
            return new Answer.Resumed(step.renew(step.state().holder(grant).orElseThrow()));
        });
    }
}
