package dev.palisade.server.ownership;

import java.util.List;

/** What an input came to: the next state, and what to do, in this order. */
public record OwnershipStep(Ownership next, List<OwnershipAction> actions) {
    public OwnershipStep {
        actions = List.copyOf(actions);
    }

    static OwnershipStep of(Ownership next, OwnershipAction... actions) {
        return new OwnershipStep(next, List.of(actions));
    }
}
