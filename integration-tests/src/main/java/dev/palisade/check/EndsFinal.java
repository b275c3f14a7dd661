package dev.palisade.check;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * P8: once a grant was told LEASE_EXPIRED, or TOKEN_STALE at its resource, nothing that is sent later under it is accepted there. A
 * lock server may forget what it said when its store loses data; a guard and the SDK may not.
 */
public final class EndsFinal {
    private EndsFinal() {}

    private record Judged(Told.By by, String grant) {}

    public static List<String> violations(List<Told> told, List<DataLost> losses) {
        Map<Judged, List<Told>> ends = new HashMap<>();
        for (Told one : told) {
            if (one.over()) {
                ends.computeIfAbsent(new Judged(one.by(), one.grant()), judged -> new ArrayList<>())
                        .add(one);
            }
        }
        List<String> found = new ArrayList<>();
        for (Told one : told) {
            if (!one.over()) {
                ends.getOrDefault(new Judged(one.by(), one.grant()), List.of()).stream()
                        .filter(end -> one.sentNanos() > end.answeredNanos() && !isForgotten(end, one, losses))
                        .min(Comparator.comparingLong(Told::answeredNanos))
                        .ifPresent(end -> found.add("P8: " + one + " was accepted "
                                + (one.sentNanos() - end.answeredNanos()) / 1_000_000 + " ms after the " + end.what()
                                + " had been told that it is over"));
            }
        }
        return found;
    }

    private static boolean isForgotten(Told end, Told later, List<DataLost> losses) {
        return end.by() == Told.By.SERVER
                && losses.stream().anyMatch(loss -> loss.between(end.sentNanos(), later.answeredNanos()));
    }
}
