package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;

/**
 * A holder shows a grant that the store has lost, while the store waits for such holders. Of conflicting ones the highest token wins:
 * it was granted last, so what the store or another holder says of a lower one is out of date. At any other time, and
 * for a grant that is known, this is a {@link Resume}. What made the grant authentic is not asked here.
 *
 * @param request what was granted; its generation is that of the stream that speaks for it now
 * @param token what it was granted with
 */
public record Reclaim(LockName lock, Request request, FencingToken token) implements Command {
    @Override
    public Answer decide(Step step) {
        if (step.recovering() && isForgotten(step.state())) {
            if (isOutlived(step.state())) {
                return step.refuse(
                        Reason.NOT_HOLDER,
                        "cannot reclaim: a newer grant than token " + token + " is known; acquire again");
            }
            endOlder(step);
            step.emit(new LockEvent.Reclaimed(
                    new Grant(request, token, step.nowMillis(), step.nowMillis() + request.ttlMillis())));
        }
        return new Resume(lock, request.grant(), token, request.id().session(), request.sessionGen()).decide(step);
    }

    /** Neither held nor ended, as far as the store knows; it may believe that the request still waits. */
    private boolean isForgotten(LockState state) {
        return state.holder(request.grant()).isEmpty()
                && state.holder(request.id()).isEmpty()
                && state.tombstone(request.grant()).isEmpty()
                && state.tombstone(request.id()).isEmpty()
                && state.waiters().stream().noneMatch(waiter -> speaksForItself(waiter.request()));
    }

    /** It has the grant id and is another's, or a newer stream of its session has asked since. */
    private boolean speaksForItself(Request waiting) {
        return waiting.id().equals(request.id())
                ? waiting.sessionGen() > request.sessionGen()
                : waiting.grant().equals(request.grant());
    }

    /** An EXCLUSIVE grant has ended when any later one is made. An end does not say whether it was of a SHARED grant. */
    private boolean isOutlived(LockState state) {
        return state.holders().stream()
                        .anyMatch(held -> conflicts(held) && held.token().compareTo(token) >= 0)
                || (request.mode() == Mode.EXCLUSIVE
                        && state.tombstones().stream().anyMatch(end -> end.token() > token.value()));
    }

    private void endOlder(Step step) {
        for (Grant held : step.state().holders()) {
            if (conflicts(held)) {
                // No lock-delay: that a newer grant was made shows that it was over.
                step.end(held.request(), held.token().value(), End.EXPIRED, 0);
            }
        }
    }

    private boolean conflicts(Grant held) {
        return request.mode() == Mode.EXCLUSIVE || held.mode() == Mode.EXCLUSIVE;
    }
}
