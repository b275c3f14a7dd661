package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/**
 * An operator's: ends leases at once, with their lock-delay, because a holder that did not stop of its own will may still be
 * at work. The minimum hold time ends with them; without a token, also that of a lease which is over. Offers and waiters stay.
 *
 * @param token of the lease to end, or of any of its turns; 0 for every lease of the lock
 * @param by who ends it
 * @param why for what
 */
public record ForceRelease(LockName lock, long token, String by, String why) implements Command {
    @Override
    public Answer decide(Step step) {
        String detail = "by " + by + ": " + why;
        int released = 0;
        for (Grant held : step.state().holders()) {
            if (token == 0 || held.token().isOfSameGrant(token)) {
                step.endGrant(held, End.FORCE_RELEASED, detail);
                released++;
            }
        }
        if (step.state().minimumHoldUntilMillis() > step.nowMillis() && (token == 0 || released > 0)) {
            step.emit(new LockEvent.MinimumHoldEnded(released == 0 ? detail : ""));
            released = Math.max(1, released);
        }
        return new Answer.ForceReleased(released);
    }
}
