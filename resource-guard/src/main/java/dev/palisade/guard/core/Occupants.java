package dev.palisade.guard.core;

import dev.palisade.contract.Mode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The calls that run behind one door or are quarantined there. They never conflict with one another, so a newcomer
 * conflicts with all of them or with none, and the newest speaks for all.
 */
final class Occupants {
    private @Nullable Visit newest;

    boolean isEmpty() {
        return newest == null;
    }

    void add(Visit visit) {
        visit.after = newest;
        if (newest != null) {
            newest.before = visit;
        }
        newest = visit;
    }

    void remove(Visit visit) {
        Visit before = visit.before;
        Visit after = visit.after;
        if (before == null) {
            newest = after;
        } else {
            before.after = after;
        }
        if (after != null) {
            after.before = before;
        }
        visit.before = null;
        visit.after = null;
    }

    /** Whether these calls are of a grant that {@code visit} must not run beside. */
    boolean conflictWith(Visit visit) {
        if (newest == null) {
            return false;
        }
        boolean bothShared =
                visit.sequencer().mode() == Mode.SHARED && newest.sequencer().mode() == Mode.SHARED;
        boolean sameGrant = visit.sequencer().token().equals(newest.sequencer().token())
                && visit.sequencer().grant().equals(newest.sequencer().grant());
        return !bothShared && !sameGrant;
    }

    /** Adds to {@code asked} whoever is in the way of {@code visit} and was not asked to stop before. */
    void askToStop(Visit visit, List<Visit> asked) {
        for (Visit each = newest; each != null && conflictWith(visit); each = each.after) {
            if (each.askToStop()) {
                asked.add(each);
            }
        }
    }

    /** Those whose quarantine is over. */
    List<Visit> overdue(long nowNanos) {
        List<Visit> overdue = new ArrayList<>();
        for (Visit each = newest; each != null; each = each.after) {
            if (each.isOverdue(nowNanos)) {
                overdue.add(each);
            }
        }
        return overdue;
    }

    /** Whose calls these are, for people. */
    @Override
    public String toString() {
        return newest == null
                ? "nobody"
                : "token " + newest.sequencer().token() + " (grant "
                        + newest.sequencer().grant() + ")";
    }
}
