package dev.palisade.check;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P8: after a grant was refused with LEASE_EXPIRED, or TOKEN_STALE at its resource, no later request under
 * it is accepted there. A lock server may contradict its own report if its store loses data; a guard and the SDK may
 * not.
 */
public final class EndsFinal {
    private EndsFinal() {}

    private record GrantAtSource(GrantReport.Source source, String grant) {}

    public static List<String> violations(List<GrantReport> reports, List<DataLost> losses) {
        Map<GrantAtSource, List<GrantReport>> ends = new HashMap<>();
        for (GrantReport one : reports) {
            if (one.ended()) {
                ends.computeIfAbsent(new GrantAtSource(one.source(), one.grant()), key -> new ArrayList<>())
                        .add(one);
            }
        }
        List<String> found = new ArrayList<>();
        for (GrantReport one : reports) {
            if (!one.ended()) {
                ends.getOrDefault(new GrantAtSource(one.source(), one.grant()), List.of()).stream()
                        .filter(end -> one.sentNanos() > end.answeredNanos() && !isForgotten(end, one, losses))
                        .min(Comparator.comparingLong(GrantReport::answeredNanos))
                        .ifPresent(end -> found.add("P8: " + one + " was accepted "
                                + (one.sentNanos() - end.answeredNanos()) / 1_000_000 + " ms after the " + end.what()
                                + " had been told that it is over"));
            }
        }
        return found;
    }

    private static boolean isForgotten(GrantReport end, GrantReport later, List<DataLost> losses) {
        return end.source() == GrantReport.Source.SERVER
                && losses.stream().anyMatch(loss -> loss.between(end.sentNanos(), later.answeredNanos()));
    }
}
