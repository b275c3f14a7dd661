package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RequestId;
import java.util.Optional;

/**
 * Takes a request back, whatever it has come to: out of the queue, or the offer or grant that raced the leaving. A lease is released
 * if its client asks, and abandoned, with its lock-delay, if a server asks for a stream that broke.
 *
 * @param sessionGen the stream on whose behalf; a request that a newer stream speaks for stays. {@link #BY_CLIENT} when the client
 *     itself asks
 * @param cause why a lease is abandoned
 */
public record Leave(LockName lock, RequestId request, long sessionGen, EndCause cause) implements Command {
    /** Above every generation of a stream. */
    public static final long BY_CLIENT = Long.MAX_VALUE;

    public Leave(LockName lock, RequestId request, long sessionGen) {
        this(lock, request, sessionGen, EndCause.CONNECTION_BROKE);
    }

    public boolean isByClient() {
        return sessionGen == BY_CLIENT;
    }

    @Override
    public Answer decide(Step step) {
        LockState state = step.state();
        Optional<Grant> held = state.holder(request);
        if (held.isPresent()) {
            if (!superseded(held.get().request())) {
                if (isByClient()) {
                    step.endGrant(held.get(), End.RELEASED);
                } else {
                    step.endGrant(held.get(), End.ABANDONED, cause.words());
                }
            }
            return new Answer.Left(false);
        }
        Optional<Waiter> waiting = state.offer(request).map(Offer::waiter).or(() -> state.waiter(request));
        if (waiting.isEmpty()) {
            rememberIfUnknown(step);
            return new Answer.Left(false);
        }
        if (superseded(waiting.get().request())) {
            return new Answer.Left(false);
        }
        long token = state.offer(request).map(offer -> offer.token().value()).orElse(0L);
        step.end(waiting.get().request(), token, End.LEFT, 0);
        return new Answer.Left(true);
    }

    /** The acquire may still be on its way: when it comes, it must not be granted. */
    private void rememberIfUnknown(Step step) {
        if (step.state().tombstone(request).isEmpty()) {
            step.emit(new LockEvent.Ended(new Tombstone(request, new GrantId(0, 0), 0, End.LEFT, step.nowMillis()), 0));
        }
    }

    private boolean superseded(Request asked) {
        return asked.sessionGen() > sessionGen;
    }
}
