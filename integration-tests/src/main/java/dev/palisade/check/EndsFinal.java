package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** P8: once a grant was told LEASE_EXPIRED, or TOKEN_STALE at its resource, nothing that is sent later under it is accepted there. */
public final class EndsFinal {
    private EndsFinal() {}

    private record Judged(Told.By by, String grant) {}

    public static List<String> violations(List<Told> told) {
        Map<Judged, Told> ends = new HashMap<>();
        for (Told one : told) {
            if (one.over()) {
                ends.merge(
                        new Judged(one.by(), one.grant()),
                        one,
                        (first, other) -> other.answeredNanos() < first.answeredNanos() ? other : first);
            }
        }
        List<String> found = new ArrayList<>();
        for (Told one : told) {
            Told end = ends.get(new Judged(one.by(), one.grant()));
            if (!one.over() && end != null && one.sentNanos() > end.answeredNanos()) {
                found.add("P8: " + one + " was accepted " + (one.sentNanos() - end.answeredNanos()) / 1_000_000
                        + " ms after the " + end.what() + " had been told that it is over");
            }
        }
        return found;
    }
}
