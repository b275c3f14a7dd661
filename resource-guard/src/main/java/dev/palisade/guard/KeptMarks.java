package dev.palisade.guard;

import dev.palisade.guard.MarkStore.StoredMark;
import java.util.List;
import java.util.Map;

/**
 * What a store held when it was opened.
 *
 * @param complete whether a domain without a base mark was never used: false for a new store, which may stand in for
 *     one that was lost
 * @param closedInOrder whether the guard that had it before had seen the end of every call
 * @param marks all marks, one per resource
 * @param bases all base marks, one per issuer and domain
 * @param registrations by name, the token of {@link MarkStore#putRegistration}
 */
record KeptMarks(
        boolean complete,
        boolean closedInOrder,
        List<StoredMark> marks,
        List<BaseMark> bases,
        Map<String, Long> registrations) {
    KeptMarks {
        marks = List.copyOf(marks);
        bases = List.copyOf(bases);
        registrations = Map.copyOf(registrations);
    }

    /** What a store holds whose guard was never registered. */
    KeptMarks(boolean complete, boolean closedInOrder, List<StoredMark> marks, List<BaseMark> bases) {
        this(complete, closedInOrder, marks, bases, Map.of());
    }
}
