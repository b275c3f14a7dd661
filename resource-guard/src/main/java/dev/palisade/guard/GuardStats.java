package dev.palisade.guard;

import dev.palisade.contract.Reason;
import java.util.Map;

/**
 * What a guard has done since its start, and does now.
 *
 * @param admitted calls that were let in
 * @param refused calls that were refused, by reason; only reasons that occurred
 * @param wouldRefuse calls that were let in by a guard that only observes and would have been refused, by reason
 * @param waiting calls that wait now
 */
public record GuardStats(long admitted, Map<Reason, Long> refused, Map<Reason, Long> wouldRefuse, int waiting) {
    public GuardStats {
        refused = Map.copyOf(refused);
        wouldRefuse = Map.copyOf(wouldRefuse);
    }
}
