package dev.palisade.incidents;

import java.util.Map;
import java.util.TreeMap;

/**
 * What one run has found so far about one issuer.
 *
 * @param done how many incidents of the schedule have happened
 * @param byKind what was found, by the name of the kind of incident
 */
record Figures(int done, Map<String, Counts> byKind) {
    static final Figures NONE = new Figures(0, Map.of());

    Figures {
        byKind = Map.copyOf(byKind);
    }

    Counts all() {
        return byKind.values().stream().reduce(Counts.NONE, Counts::plus);
    }

    Figures plus(Figures other) {
        Map<String, Counts> sum = new TreeMap<>(byKind);
        other.byKind.forEach((kind, counts) -> sum.merge(kind, counts, Counts::plus));
        return new Figures(done + other.done, sum);
    }
}
