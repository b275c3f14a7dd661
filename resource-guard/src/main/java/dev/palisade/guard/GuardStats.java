package dev.palisade.guard;

import dev.palisade.contract.Reason;
import java.util.Map;

/**
 * Counts of a guard since its start, and at present. Each count is right by itself; two of them may be read at
 * slightly different times.
 *
 * @param admitted admitted calls
 * @param refused calls that were refused, by reason; only reasons that occurred
 * @param wouldRefuse calls that a guard which only observes admitted and would have refused, by reason
 * @param waiting calls that wait now
 * @param running admitted calls that have not ended; without those in quarantine
 * @param superseded calls that were requested to stop, because a newer grant waited for them or the guard had to
 *     stop
 * @param quarantines calls whose outcome became unknown while they ran
 * @param quarantined those of them whose quarantine lasts
 * @param marks resources that this guard remembers; with a shared register, those in use here
 * @param logLinesDropped lines of the event log that were dropped because one event came too often
 */
public record GuardStats(
        long admitted,
        Map<Reason, Long> refused,
        Map<Reason, Long> wouldRefuse,
        int waiting,
        long running,
        long superseded,
        long quarantines,
        long quarantined,
        int marks,
        long logLinesDropped) {
    public GuardStats {
        refused = Map.copyOf(refused);
        wouldRefuse = Map.copyOf(wouldRefuse);
    }

    /** Of a guard that keeps no call waiting for another, such as {@link FencedJdbc}: what it does not count is 0. */
    public GuardStats(long admitted, Map<Reason, Long> refused, Map<Reason, Long> wouldRefuse, int waiting) {
        this(admitted, refused, wouldRefuse, waiting, 0, 0, 0, 0, 0, 0);
    }
}
