package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/** Sent by time: whatever is over ends now. Every other command does the same first. */
public record Expire(LockName lock) implements Command {
    @Override
    public Answer decide(Step step) {
        return new Answer.Expired();
    }
}
