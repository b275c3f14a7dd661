package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/**
 * Takes a token for nobody: larger than every token issued before, smaller than every later one. An offer that is out has its
 * token already, so its lease comes before the barrier.
 */
public record Barrier(LockName lock) implements Command {
    @Override
    public Answer decide(Step step) {
        return step.tokensLeft() ? new Answer.Raised(step.nextToken()) : step.refuseNoToken();
    }
}
