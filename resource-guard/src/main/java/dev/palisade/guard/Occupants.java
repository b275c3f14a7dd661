package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The calls that run behind one door or are quarantined there. Those that run never conflict with one another, so a
 * newcomer conflicts with all of them or with none, and the newest speaks for all.
 */
final class Occupants {
    private @Nullable Visit newest;
    private int unheardWrites;

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

    /** {@code visit}, one of these, is quarantined. */
    void lose(Visit visit, long untilNanos) {
        change(visit, () -> visit.quarantine(untilNanos));
    }

    /** Whoever called {@code visit}, one of these, does not wait for its end. */
    void callerGone(Visit visit) {
        change(visit, visit::forgetCaller);
    }

    private void change(Visit visit, Runnable change) {
        unheardWrites -= visit.isUnheardWrite() ? 1 : 0;
        change.run();
        unheardWrites += visit.isUnheardWrite() ? 1 : 0;
    }

    /** Whether somebody may start now who could not before: otherwise who is left stands in the same way as before. */
    boolean remove(Visit visit) {
        boolean unheard = visit.isUnheardWrite();
        unheardWrites -= unheard ? 1 : 0;
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
        return newest == null || (unheard && unheardWrites == 0);
    }

    /**
     * Whether {@code visit} must not run beside these calls: they are of another grant, not all of it SHARED, or one of its own
     * may still write, and its caller does not know its end. That one reads again, and what it reads has to stay.
     */
    boolean conflictWith(Visit visit) {
        if (newest == null) {
            return false;
        }
        boolean bothShared =
                visit.sequencer().mode() == Mode.SHARED && newest.sequencer().mode() == Mode.SHARED;
        return unheardWrites > 0 || (!bothShared && !isOfSameGrant(newest, visit));
    }

    private static boolean isOfSameGrant(Visit one, Visit other) {
        return one.sequencer().token().equals(other.sequencer().token())
                && one.sequencer().grant().equals(other.sequencer().grant());
    }

    /**
     * Adds to {@code asked} whoever is in the way of {@code visit} and was not asked to stop before. Who asks asks all, so
     * behind one that was asked before there is nobody left to ask.
     */
    void askToStop(Visit visit, List<Visit> asked) {
        if (newest == null || !conflictWith(visit) || isOfSameGrant(newest, visit)) {
            return;
        }
        askAllToStop(asked);
    }

    /** Adds to {@code asked} each of them that was not asked to stop before. */
    void askAllToStop(List<Visit> asked) {
        for (Visit each = newest; each != null && each.askToStop(); each = each.after) {
            asked.add(each);
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
