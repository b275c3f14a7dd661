package dev.palisade.guard.grpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.ServerCall;
import java.time.Duration;
import java.util.Set;

/**
 * Listener of a call at a guard that only observes. It reads the messages on their way to the handler, and never
 * delays or changes the call.
 */
final class ObservedCall<Q> extends SimpleForwardingServerCallListener<Q> {
    private final Guard guard;
    private final Route route;
    private final SignedSequencer signed;
    private Set<Binding> resources = Set.of();

    ObservedCall(Guard guard, Route route, SignedSequencer signed, ServerCall.Listener<Q> handler) {
        super(handler);
        this.guard = guard;
        this.route = route;
        this.signed = signed;
    }

    @Override
    public void onMessage(Q message) {
        try {
            Set<Binding> named = route.resources(message);
            if (resources.isEmpty()) {
                resources = named;
                var unused = guard.enterAsync(
                        signed, route.access(), route.check(), Duration.ZERO, named.toArray(Binding[]::new));
            } else if (!named.equals(resources)) {
                count(new Rejection(Reason.WRONG_RESOURCE, "a later message names " + Route.names(named)));
            }
        } catch (RuntimeException e) {
            count(Route.rejection(e));
        }
        super.onMessage(message);
    }

    private void count(Rejection rejection) {
        boolean unused = guard.recordRefusal(rejection);
    }
}
