package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/**
 * Asks every holder to give the lock up; each decides for itself, and nothing changes. Whether the asking reaches a holder is
 * not known here.
 *
 * @param by the requester
 * @param why for what
 */
public record RequestRelease(LockName lock, String by, String why) implements Command {
    @Override
    public Answer decide(Step step) {
        for (Grant held : step.state().holders()) {
            step.emit(new LockEvent.ReleaseRequested(held.request().id(), held.id(), by, why));
        }
        return new Answer.ReleaseRequested(step.state().holders().size());
    }
}
