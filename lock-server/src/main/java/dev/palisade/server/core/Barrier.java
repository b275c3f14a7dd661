package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/**
 * Takes a token without a grant: larger than every token issued before, smaller than every later one. A lease that stands, or is offered, has
 * its tokens already, those of later turns too, so all of them come before the barrier.
 */
public record Barrier(LockName lock) implements Command {
    @Override
    public Answer decide(Step step) {
        return step.tokensLeft() ? new Answer.Raised(step.nextToken()) : step.refuseNoToken();
    }
}
