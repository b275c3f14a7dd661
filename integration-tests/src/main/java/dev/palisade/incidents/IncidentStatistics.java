package dev.palisade.incidents;

import java.util.Map;
import java.util.TreeMap;

/**
 * Results of one run for one issuer. {@code state.json} has these field names.
 *
 * @param done number of injected incidents
 * @param byKind counts by the name of the kind of incident
 */
record IncidentStatistics(int done, Map<String, Counts> byKind) {
    static final IncidentStatistics NONE = new IncidentStatistics(0, Map.of());

    IncidentStatistics {
        byKind = Map.copyOf(byKind);
    }

    Counts all() {
        return byKind.values().stream().reduce(Counts.NONE, Counts::plus);
    }

    IncidentStatistics plus(IncidentStatistics other) {
        Map<String, Counts> sum = new TreeMap<>(byKind);
        other.byKind.forEach((kind, counts) -> sum.merge(kind, counts, Counts::plus));
        return new IncidentStatistics(done + other.done, sum);
    }
}
