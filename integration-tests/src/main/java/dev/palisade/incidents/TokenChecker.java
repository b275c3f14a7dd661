package dev.palisade.incidents;

import dev.palisade.check.Granted;
import dev.palisade.check.Pair;
import dev.palisade.check.TokensRise;
import dev.palisade.check.TokensUnique;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Checker of the tokens of one campaign. A fault counts for the incident during which the faulty grant was taken. Pure.
 */
final class TokenChecker {
    private final List<IssuedToken> issued;
    private final Map<String, List<PrimaryTerm>> termsByNode;
    private final List<PrimaryTerm> terms;
    private final Map<Integer, Set<Fault>> faults = new HashMap<>();

    private record Fault(String kind, IssuedToken one) {
        @Override
        public String toString() {
            return kind + ": token " + one.token() + " of " + one.granted().grant() + " by " + one.node() + ", epoch "
                    + one.epoch();
        }
    }

    private TokenChecker(List<IssuedToken> issued, List<PrimaryTerm> terms) {
        this.issued = issued.stream()
                .sorted(Comparator.comparingLong(one -> one.granted().answeredNanos()))
                .toList();
        this.terms = terms;
        this.termsByNode = terms.stream().collect(Collectors.groupingBy(PrimaryTerm::node));
    }

    /** @param terms in their order */
    static TokenChecker of(List<IssuedToken> issued, List<PrimaryTerm> terms) {
        TokenChecker checker = new TokenChecker(issued, terms);
        by(checker.issued, one -> one.granted().lock()).values().forEach(checker::check);
        return checker;
    }

    private void check(List<IssuedToken> ofOneCounter) {
        Map<String, IssuedToken> byGrant = new HashMap<>();
        ofOneCounter.forEach(one -> byGrant.put(one.granted().grant(), one));
        note("P1", TokensUnique.pairs(granted(ofOneCounter)), byGrant);
        note(
                "P2",
                TokensRise.pairs(
                        granted(ofOneCounter.stream().filter(this::current).toList())),
                byGrant);
        Map<String, List<IssuedToken>> epochs = by(ofOneCounter, IssuedToken::epoch);
        epochs.remove("");
        epochs.values().forEach(epoch -> note("P2", TokensRise.pairs(granted(epoch)), byGrant));
        interleaved(ofOneCounter).forEach(one -> note("P3", one));
        aboveNewer(ofOneCounter).forEach(one -> note("P4", one));
    }

    /** Finds tokens within the range of an epoch that began earlier. */
    private static List<IssuedToken> interleaved(List<IssuedToken> ofOneCounter) {
        Map<String, List<IssuedToken>> epochs = by(ofOneCounter, IssuedToken::epoch);
        epochs.remove("");
        List<List<IssuedToken>> inOrder = epochs.values().stream()
                .sorted(Comparator.comparingLong(epoch -> epoch.get(0).granted().answeredNanos()))
                .toList();
        List<IssuedToken> found = new ArrayList<>();
        for (int later = 1; later < inOrder.size(); later++) {
            List<LongSummaryStatistics> earlier =
                    inOrder.subList(0, later).stream().map(TokenChecker::range).toList();
            inOrder.get(later).stream()
                    .filter(one -> earlier.stream()
                            .anyMatch(range -> range.getMin() < one.token() && one.token() < range.getMax()))
                    .forEach(found::add);
        }
        return found;
    }

    private static LongSummaryStatistics range(List<IssuedToken> epoch) {
        return epoch.stream().mapToLong(IssuedToken::token).summaryStatistics();
    }

    /** Finds tokens of a deposed primary that are not below all tokens of its successors. */
    private List<IssuedToken> aboveNewer(List<IssuedToken> ofOneCounter) {
        long[] leastAfter = new long[terms.size() + 1];
        Arrays.fill(leastAfter, Long.MAX_VALUE);
        for (IssuedToken one : ofOneCounter) {
            int term = termOf(one);
            if (term >= 0) {
                leastAfter[term] = Math.min(leastAfter[term], one.token());
            }
        }
        for (int i = terms.size() - 1; i >= 0; i--) {
            leastAfter[i] = Math.min(leastAfter[i], leastAfter[i + 1]);
        }
        return ofOneCounter.stream()
                .filter(this::stale)
                .filter(one -> one.token() >= leastAfter[lastTermBefore(one) + 1])
                .toList();
    }

    /** Whether its node was the primary during the whole call. */
    private boolean current(IssuedToken one) {
        return termOf(one) >= 0;
    }

    /** Whether its node was deposed before the call and not the primary during it. */
    private boolean stale(IssuedToken one) {
        return lastTermBefore(one) >= 0
                && termsByNode.getOrDefault(one.node(), List.of()).stream()
                        .noneMatch(term -> term.fromNanos() <= one.granted().answeredNanos()
                                && term.untilNanos() >= one.granted().askedNanos());
    }

    private int termOf(IssuedToken one) {
        for (int i = terms.size() - 1; i >= 0; i--) {
            PrimaryTerm term = terms.get(i);
            if (term.node().equals(one.node())
                    && term.fromNanos() <= one.granted().askedNanos()
                    && term.untilNanos() >= one.granted().answeredNanos()) {
                return i;
            }
        }
        return -1;
    }

    private int lastTermBefore(IssuedToken one) {
        for (int i = terms.size() - 1; i >= 0; i--) {
            PrimaryTerm term = terms.get(i);
            if (term.node().equals(one.node())
                    && term.untilNanos() < one.granted().askedNanos()) {
                return i;
            }
        }
        return -1;
    }

    private void note(String kind, List<Pair> pairs, Map<String, IssuedToken> byGrant) {
        for (Pair pair : pairs) {
            IssuedToken later = byGrant.get(pair.later().grant());
            if (later != null) {
                note(kind, later);
            }
        }
    }

    private void note(String kind, IssuedToken one) {
        faults.computeIfAbsent(one.incident(), incident -> new HashSet<>()).add(new Fault(kind, one));
    }

    /** Descriptions of the faults, by number of the incident. */
    Map<Integer, List<String>> faults() {
        Map<Integer, List<String>> words = new TreeMap<>();
        faults.forEach((number, found) ->
                words.put(number, found.stream().map(Fault::toString).sorted().toList()));
        return words;
    }

    /** @param unknown number of attempts without a reply, by number of the incident */
    Map<Integer, Counts> counts(Map<Integer, Integer> unknown) {
        Map<Integer, List<IssuedToken>> byIncident = by(issued, IssuedToken::incident);
        Set<Integer> numbers = new HashSet<>(byIncident.keySet());
        numbers.addAll(unknown.keySet());
        Map<Integer, Counts> counts = new HashMap<>();
        for (int number : numbers) {
            List<IssuedToken> taken = byIncident.getOrDefault(number, List.of());
            Map<String, Long> found = faults.getOrDefault(number, Set.of()).stream()
                    .collect(Collectors.groupingBy(Fault::kind, Collectors.counting()));
            counts.put(
                    number,
                    new Counts(
                            taken.size(),
                            unknown.getOrDefault(number, 0),
                            found.getOrDefault("P1", 0L),
                            found.getOrDefault("P2", 0L),
                            found.getOrDefault("P3", 0L),
                            found.getOrDefault("P4", 0L),
                            taken.stream().filter(this::stale).count(),
                            0));
        }
        return counts;
    }

    private static List<Granted> granted(List<IssuedToken> issued) {
        return issued.stream().map(IssuedToken::granted).toList();
    }

    private static <K> Map<K, List<IssuedToken>> by(List<IssuedToken> issued, Function<IssuedToken, K> key) {
        return issued.stream().collect(Collectors.groupingBy(key, HashMap::new, Collectors.toList()));
    }
}
