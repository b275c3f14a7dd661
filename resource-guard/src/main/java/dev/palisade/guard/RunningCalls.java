package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * List of the calls that run at one resource or are quarantined there. Running calls never conflict with one
 * another. So a new call conflicts with all of them or with none, and is compared with the newest only.
 */
final class RunningCalls {
    private @Nullable AdmissionRequest newest;
    private int orphanedWrites;

    boolean isEmpty() {
        return newest == null;
    }

    void add(AdmissionRequest request) {
        request.next = newest;
        if (newest != null) {
            newest.previous = request;
        }
        newest = request;
    }

    /** Quarantines {@code request}, which is in this list. */
    void quarantine(AdmissionRequest request, long untilNanos) {
        change(request, () -> request.quarantine(untilNanos));
    }

    /** Marks {@code request}, which is in this list, as one whose caller does not wait for its end. */
    void callerGone(AdmissionRequest request) {
        change(request, request::markCallerGone);
    }

    private void change(AdmissionRequest request, Runnable change) {
        orphanedWrites -= request.isOrphanedWrite() ? 1 : 0;
        change.run();
        orphanedWrites += request.isOrphanedWrite() ? 1 : 0;
    }

    /** Returns whether a waiting call may start now that was blocked before. */
    boolean remove(AdmissionRequest request) {
        boolean orphaned = request.isOrphanedWrite();
        orphanedWrites -= orphaned ? 1 : 0;
        AdmissionRequest previous = request.previous;
        AdmissionRequest next = request.next;
        if (previous == null) {
            newest = next;
        } else {
            previous.next = next;
        }
        if (next != null) {
            next.previous = previous;
        }
        request.previous = null;
        request.next = null;
        return newest == null || (orphaned && orphanedWrites == 0);
    }

    /**
     * Whether {@code request} must not run beside these calls. Either they are of another grant, and not all calls
     * are SHARED. Or one of its own grant is an orphaned write: the caller reads again, and the value that it reads
     * has to stay.
     */
    boolean conflictsWith(AdmissionRequest request) {
        if (newest == null) {
            return false;
        }
        boolean bothShared =
                request.sequencer().mode() == Mode.SHARED && newest.sequencer().mode() == Mode.SHARED;
        return orphanedWrites > 0 || (!bothShared && !isOfSameGrant(newest, request));
    }

    private static boolean isOfSameGrant(AdmissionRequest one, AdmissionRequest other) {
        return one.sequencer().token().equals(other.sequencer().token())
                && one.sequencer().grant().equals(other.sequencer().grant());
    }

    /**
     * Adds to {@code stopped} the calls that block {@code request} and had no stop request before. A stop request is
     * always sent to every running call. So once a call with an earlier request is met, all older ones have one too.
     */
    void requestStop(AdmissionRequest request, List<AdmissionRequest> stopped) {
        if (newest == null || !conflictsWith(request) || isOfSameGrant(newest, request)) {
            return;
        }
        requestStopOfAll(stopped);
    }

    /** Adds to {@code stopped} each call that had no stop request before. */
    void requestStopOfAll(List<AdmissionRequest> stopped) {
        for (AdmissionRequest each = newest; each != null && each.requestStop(); each = each.next) {
            stopped.add(each);
        }
    }

    /** The calls whose quarantine is over. */
    List<AdmissionRequest> endedQuarantines(long nowNanos) {
        List<AdmissionRequest> endedQuarantines = new ArrayList<>();
        for (AdmissionRequest each = newest; each != null; each = each.next) {
            if (each.isQuarantineOver(nowNanos)) {
                endedQuarantines.add(each);
            }
        }
        return endedQuarantines;
    }

    /** The newest token and grant, for messages. */
    @Override
    public String toString() {
        return newest == null
                ? "nobody"
                : "token " + newest.sequencer().token() + " (grant "
                        + newest.sequencer().grant() + ")";
    }
}
