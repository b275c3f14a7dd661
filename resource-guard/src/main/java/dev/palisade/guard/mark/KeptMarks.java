package dev.palisade.guard.mark;

import java.util.List;

/**
 * What a store held when it was opened.
 *
 * @param complete whether a domain without a base mark was never used: false for a new store, which may stand in for
 *     one that was lost
 * @param closedInOrder whether the guard that had it before had seen the end of every call
 * @param marks all marks, one per resource
 * @param bases all base marks, one per issuer and domain
 */
public record KeptMarks(boolean complete, boolean closedInOrder, List<StoredMark> marks, List<BaseMark> bases) {
    public KeptMarks {
        marks = List.copyOf(marks);
        bases = List.copyOf(bases);
    }
}
