package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/**
 * An operator's: ends leases at once, with their lock-delay, because a holder that did not stop of its own will may still be
 * at work. Offers and waiters are left alone: who waits has done nothing wrong.
 *
 * @param token of the lease to end, or of any of its turns; 0 for every lease of the lock
 * @param by who ends it
 * @param why for what
 */
public record ForceRelease(LockName lock, long token, String by, String why) implements Command {
    @Override
    public Answer decide(Step step) {
        int released = 0;
        for (Grant held : step.state().holders()) {
            if (token == 0 || held.token().isOfSameGrant(token)) {
                step.endGrant(held, End.FORCE_RELEASED, "by " + by + ": " + why);
                released++;
            }
        }
        return new Answer.ForceReleased(released);
    }
}
