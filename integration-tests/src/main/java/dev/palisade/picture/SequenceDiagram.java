package dev.palisade.picture;

import java.util.List;

/**
 * Sequence diagram of one late call: its caller at the left, the guarded data in the middle, the caller with the newer token at the right. Holds all texts, so
 * that the page only lays them out.
 *
 * @param sentence the whole of it
 * @param violation whether the late call was applied
 * @param lock its name
 * @param callers one or two, the late one first
 * @param steps in the order of their times
 */
record SequenceDiagram(String sentence, boolean violation, String lock, List<String> callers, List<Step> steps) {
    SequenceDiagram {
        callers = List.copyOf(callers);
        steps = List.copyOf(steps);
    }

    /** What the page draws for a step. */
    enum Kind {
        /** A lease begins. */
        GRANTED,
        /** The client's process is stopped, or goes on. */
        PAUSED,
        RESUMED,
        /** The lease has ended, and its client does not know. */
        OVER,
        /** The client has let go of its lease. */
        RELEASED,
        /** A line of text. */
        NOTE,
        /** Calls of the guarded data, by their verdict. */
        APPLIED,
        READ,
        REFUSED,
        LOST_UPDATE
    }

    /**
     * One step.
     *
     * @param millis since the first event of the run
     * @param caller its index in the callers
     * @param reply the verdict on a call; else empty
     * @param value what the data is after it; empty: as before, or not known
     */
    record Step(double millis, int caller, Kind kind, String text, String reply, String value) {
        Step(double millis, int caller, Kind kind, String text) {
            this(millis, caller, kind, text, "", "");
        }
    }
}
