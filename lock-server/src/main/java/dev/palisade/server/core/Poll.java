package dev.palisade.server.core;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import java.util.Optional;

/**
 * Sent by a server on behalf of a waiter of its own: says that the waiter is alive, and asks what became of it. Unlike an
 * acquire sent again by the client it accepts nothing: that a server is alive does not mean that its client is.
 *
 * @param aliveUntilMillis when the waiter is given up unless it is heard of again
 */
public record Poll(LockName lock, RequestId request, long aliveUntilMillis) implements Command {
    @Override
    public Answer decide(Step step) {
        Optional<Grant> promised = step.state().promised(request);
        if (promised.isPresent()) {
            return new Answer.Promised(promised.get());
        }
        Optional<Grant> held = step.state().holder(request);
        if (held.isPresent()) {
            return new Answer.Granted(held.get());
        }
        if (step.state().waiter(request).isPresent()) {
            step.emit(new LockEvent.HeardOf(request, aliveUntilMillis));
            return new Answer.Queued(step.state().position(request));
        }
        return step.state()
                .tombstone(request)
                .<Answer>map(tombstone -> new Answer.WaitEnded(tombstone.end()))
                .orElseGet(() -> step.refuse(
                        Reason.NOT_HOLDER,
                        "cannot poll: request " + request.number() + " is not known; acquire again"));
    }
}
