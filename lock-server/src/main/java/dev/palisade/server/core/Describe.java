package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/** Tells who holds and who waits. */
public record Describe(LockName lock) implements Command {
    @Override
    public Answer decide(Step step) {
        step.handOff();
        return new Answer.Described(step.state(), step.nowMillis());
    }
}
