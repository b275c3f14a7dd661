package dev.palisade.check;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P2 and P4: a grant that was requested after the reply to another grant of the lock has the larger token.
 * Concurrent grants may have any order, and so may grants with a loss of data in between.
 */
public final class TokensRise {
    private TokensRise() {}

    /** @param losses across which tokens need not rise */
    public static List<String> violations(List<Granted> grants, List<DataLost> losses) {
        List<String> found = new ArrayList<>();
        for (Pair fall : pairs(grants)) {
            Granted later = fall.later();
            grants.stream()
                    .filter(earlier -> earlier.lock().equals(later.lock())
                            && earlier.answeredNanos() < later.askedNanos()
                            && earlier.token() >= later.token()
                            && losses.stream()
                                    .noneMatch(loss -> loss.between(earlier.askedNanos(), later.answeredNanos())))
                    .max(Comparator.comparingLong(Granted::token))
                    .ifPresent(earlier ->
                            found.add("P2: " + later + " was asked for after " + earlier + " had been answered"));
        }
        return found;
    }

    /** Each grant whose token is not above that of an earlier one, with the largest of the earlier ones. */
    public static List<Pair> pairs(List<Granted> grants) {
        Map<String, List<Granted>> byLock = new LinkedHashMap<>();
        grants.forEach(granted -> byLock.computeIfAbsent(granted.lock(), lock -> new ArrayList<>())
                .add(granted));
        List<Pair> found = new ArrayList<>();
        byLock.values().forEach(ofLock -> check(ofLock, found));
        return found;
    }

    private static void check(List<Granted> grants, List<Pair> found) {
        List<Granted> byAsked = new ArrayList<>(grants);
        List<Granted> byAnswered = new ArrayList<>(grants);
        byAsked.sort(Comparator.comparingLong(Granted::askedNanos));
        byAnswered.sort(Comparator.comparingLong(Granted::answeredNanos));
        int answered = 0;
        Granted largest = null;
        for (Granted next : byAsked) {
            while (answered < byAnswered.size() && byAnswered.get(answered).answeredNanos() < next.askedNanos()) {
                Granted before = byAnswered.get(answered++);
                largest = largest == null || before.token() > largest.token() ? before : largest;
            }
            if (largest != null && next.token() <= largest.token()) {
                found.add(new Pair(largest, next));
            }
        }
    }
}
