package dev.palisade.bench;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Lets contestants take turns: each warms up, then round by round each is measured once.
 *
 * @param warmUp of each contestant, in which nothing is measured
 * @param round of each contestant, each time
 * @param count how often
 */
record Rounds(Duration warmUp, Duration round, int count) {
    /** Something that is measured: works until the time is over. */
    interface Contestant {
        Measured run(Duration time) throws Exception;
    }

    /**
     * What one round came to.
     *
     * @param operations how many were done
     * @param nanos how long it took
     * @param cpuNanos what processors the measured process used meanwhile
     */
    record Measured(long operations, long nanos, long cpuNanos) {
        double perSecond() {
            return operations * 1e9 / nanos;
        }

        double cpuNanosEach() {
            return (double) cpuNanos / operations;
        }
    }

    /** The rounds of each contestant, by its name, in the order of {@code contestants}. */
    Map<String, List<Measured>> run(Map<String, Contestant> contestants, PrintStream progress) throws Exception {
        for (Map.Entry<String, Contestant> each : contestants.entrySet()) {
            progress.println("warming up: " + each.getKey());
            each.getValue().run(warmUp);
        }
        Map<String, List<Measured>> results = new LinkedHashMap<>();
        contestants.keySet().forEach(name -> results.put(name, new ArrayList<>()));
        for (int i = 1; i <= count; i++) {
            progress.println("round " + i + " of " + count);
            for (Map.Entry<String, List<Measured>> each : results.entrySet()) {
                Contestant contestant = contestants.get(each.getKey());
                if (contestant != null) {
                    each.getValue().add(contestant.run(round));
                }
            }
        }
        return results;
    }

    /** The middle one of {@code values}. */
    static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
