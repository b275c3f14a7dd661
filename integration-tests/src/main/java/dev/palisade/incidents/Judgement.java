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
 * What a record of tokens shows, for each incident by its number: a fault counts for the incident in whose time the grant that is at
 * fault was taken. Pure.
 */
final class Judgement {
    private final List<Issued> issued;
    private final Map<String, List<Reign>> reignsByNode;
    private final List<Reign> reigns;
    private final Map<Integer, Set<Fault>> faults = new HashMap<>();

    private record Fault(String kind, Issued one) {
        @Override
        public String toString() {
            return kind + ": token " + one.token() + " of " + one.granted().grant() + " by " + one.node() + ", epoch "
                    + one.epoch();
        }
    }

    private Judgement(List<Issued> issued, List<Reign> reigns) {
        this.issued = issued.stream()
                .sorted(Comparator.comparingLong(one -> one.granted().answeredNanos()))
                .toList();
        this.reigns = reigns;
        this.reignsByNode = reigns.stream().collect(Collectors.groupingBy(Reign::node));
    }

    /** @param reigns in their order */
    static Judgement of(List<Issued> issued, List<Reign> reigns) {
        Judgement judgement = new Judgement(issued, reigns);
        by(judgement.issued, one -> one.granted().lock()).values().forEach(judgement::judge);
        return judgement;
    }

    private void judge(List<Issued> ofOneCounter) {
        Map<String, Issued> byGrant = new HashMap<>();
        ofOneCounter.forEach(one -> byGrant.put(one.granted().grant(), one));
        note("P1", TokensUnique.pairs(granted(ofOneCounter)), byGrant);
        note(
                "P2",
                TokensRise.pairs(
                        granted(ofOneCounter.stream().filter(this::current).toList())),
                byGrant);
        Map<String, List<Issued>> epochs = by(ofOneCounter, Issued::epoch);
        epochs.remove("");
        epochs.values().forEach(epoch -> note("P2", TokensRise.pairs(granted(epoch)), byGrant));
        interleaved(ofOneCounter).forEach(one -> note("P3", one));
        aboveNewer(ofOneCounter).forEach(one -> note("P4", one));
    }

    /** Between the least and the largest token of an epoch there is none of an epoch that began later. */
    private static List<Issued> interleaved(List<Issued> ofOneCounter) {
        Map<String, List<Issued>> epochs = by(ofOneCounter, Issued::epoch);
        epochs.remove("");
        List<List<Issued>> inOrder = epochs.values().stream()
                .sorted(Comparator.comparingLong(epoch -> epoch.get(0).granted().answeredNanos()))
                .toList();
        List<Issued> found = new ArrayList<>();
        for (int later = 1; later < inOrder.size(); later++) {
            List<LongSummaryStatistics> earlier =
                    inOrder.subList(0, later).stream().map(Judgement::range).toList();
            inOrder.get(later).stream()
                    .filter(one -> earlier.stream()
                            .anyMatch(range -> range.getMin() < one.token() && one.token() < range.getMax()))
                    .forEach(found::add);
        }
        return found;
    }

    private static LongSummaryStatistics range(List<Issued> epoch) {
        return epoch.stream().mapToLong(Issued::token).summaryStatistics();
    }

    /** What a deposed primary issued is below everything of its successors. */
    private List<Issued> aboveNewer(List<Issued> ofOneCounter) {
        long[] leastAfter = new long[reigns.size() + 1];
        Arrays.fill(leastAfter, Long.MAX_VALUE);
        for (Issued one : ofOneCounter) {
            int reign = reignOf(one);
            if (reign >= 0) {
                leastAfter[reign] = Math.min(leastAfter[reign], one.token());
            }
        }
        for (int i = reigns.size() - 1; i >= 0; i--) {
            leastAfter[i] = Math.min(leastAfter[i], leastAfter[i + 1]);
        }
        return ofOneCounter.stream()
                .filter(this::stale)
                .filter(one -> one.token() >= leastAfter[lastReignBefore(one) + 1])
                .toList();
    }

    /** Whether its node was the primary from before it was asked until after it answered. */
    private boolean current(Issued one) {
        return reignOf(one) >= 0;
    }

    /** Whether its node had been the primary, and was it at no moment while it answered. */
    private boolean stale(Issued one) {
        return lastReignBefore(one) >= 0
                && reignsByNode.getOrDefault(one.node(), List.of()).stream()
                        .noneMatch(reign -> reign.fromNanos() <= one.granted().answeredNanos()
                                && reign.untilNanos() >= one.granted().askedNanos());
    }

    private int reignOf(Issued one) {
        for (int i = reigns.size() - 1; i >= 0; i--) {
            Reign reign = reigns.get(i);
            if (reign.node().equals(one.node())
                    && reign.fromNanos() <= one.granted().askedNanos()
                    && reign.untilNanos() >= one.granted().answeredNanos()) {
                return i;
            }
        }
        return -1;
    }

    private int lastReignBefore(Issued one) {
        for (int i = reigns.size() - 1; i >= 0; i--) {
            Reign reign = reigns.get(i);
            if (reign.node().equals(one.node())
                    && reign.untilNanos() < one.granted().askedNanos()) {
                return i;
            }
        }
        return -1;
    }

    private void note(String kind, List<Pair> pairs, Map<String, Issued> byGrant) {
        for (Pair pair : pairs) {
            Issued later = byGrant.get(pair.later().grant());
            if (later != null) {
                note(kind, later);
            }
        }
    }

    private void note(String kind, Issued one) {
        faults.computeIfAbsent(one.incident(), incident -> new HashSet<>()).add(new Fault(kind, one));
    }

    /** In words, by the number of the incident. */
    Map<Integer, List<String>> faults() {
        Map<Integer, List<String>> words = new TreeMap<>();
        faults.forEach((number, found) ->
                words.put(number, found.stream().map(Fault::toString).sorted().toList()));
        return words;
    }

    /** @param unknown how many tries ended without an answer, by the number of the incident */
    Map<Integer, Counts> counts(Map<Integer, Integer> unknown) {
        Map<Integer, List<Issued>> byIncident = by(issued, Issued::incident);
        Set<Integer> numbers = new HashSet<>(byIncident.keySet());
        numbers.addAll(unknown.keySet());
        Map<Integer, Counts> counts = new HashMap<>();
        for (int number : numbers) {
            List<Issued> taken = byIncident.getOrDefault(number, List.of());
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

    private static List<Granted> granted(List<Issued> issued) {
        return issued.stream().map(Issued::granted).toList();
    }

    private static <K> Map<K, List<Issued>> by(List<Issued> issued, Function<Issued, K> key) {
        return issued.stream().collect(Collectors.groupingBy(key, HashMap::new, Collectors.toList()));
    }
}
