package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.Map;

/**
 * Where each refusal of a guard passes once, whichever rule made it: it is counted, and operators are told. Decides nothing.
 * Safe for use by many threads.
 */
final class Refusals {
    private final EventLog events;
    private final boolean observeOnly;
    private final Tally counts = new Tally();

    /** @param observeOnly the guard lets these calls in, and the log must say so */
    Refusals(EventLog events, boolean observeOnly) {
        this.events = events;
        this.observeOnly = observeOnly;
    }

    void add(Rejection rejection) {
        counts.add(rejection.reason());
        if (observeOnly) {
            events.refused(rejection, "observed", "yes");
        } else {
            events.refused(rejection);
        }
    }

    /** Of calls that were refused. */
    Map<Reason, Long> refused() {
        return observeOnly ? Map.of() : counts.counts();
    }

    /** Of calls that were let in all the same. */
    Map<Reason, Long> wouldRefuse() {
        return observeOnly ? counts.counts() : Map.of();
    }
}
