package dev.palisade.check;

import java.util.List;
import java.util.stream.Stream;

/**
 * Everything a finished run left behind, and all checkers over it.
 *
 * @param marks snapshots in the order in which they were taken; the last one is the end
 */
public record Run(
        List<Granted> grants,
        List<Increment> increments,
        List<AppliedCall> applied,
        List<Marks> marks,
        List<Counter> counters) {
    public Run {
        grants = List.copyOf(grants);
        increments = List.copyOf(increments);
        applied = List.copyOf(applied);
        marks = List.copyOf(marks);
        counters = List.copyOf(counters);
    }

    /** What is wrong where the lock servers' store lost nothing. */
    public List<String> violations() {
        return violations(List.of());
    }

    /**
     * What is wrong, each beginning with the name of its property; empty: nothing.
     *
     * @param losses of the lock servers' store, over which tokens need not rise; everything else must be so all the same
     */
    public List<String> violations(List<DataLost> losses) {
        List<String> coverage =
                marks.isEmpty() ? List.of() : MarksRise.violations(marks.get(marks.size() - 1), applied);
        return Stream.of(
                        TokensUnique.violations(grants),
                        TokensRise.violations(grants, losses),
                        WritesRise.violations(applied),
                        ReadsFence.violations(applied),
                        MarksRise.violations(marks),
                        coverage,
                        OnlyAuthentic.violations(grants, applied, marks),
                        CountersKept.violations(increments, applied, counters))
                .flatMap(List::stream)
                .toList();
    }
}
