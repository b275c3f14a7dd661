package dev.palisade.check;

import java.util.List;
import java.util.stream.Stream;

/**
 * Records of a finished run, with all checkers of tokens, marks and counters.
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

    /** The violations, if the store of the lock servers lost no data. */
    public List<String> violations() {
        return violations(List.of());
    }

    /**
     * The violations, each prefixed with its property.
     *
     * @param losses of the lock servers' store, across which tokens need not rise; the other properties must hold
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
