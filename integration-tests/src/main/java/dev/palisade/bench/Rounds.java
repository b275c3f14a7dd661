package dev.palisade.bench;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Lets contestants take turns: each warms up, then round by round each is measured once. One that fails is out; the others go on.
 *
 * @param warmUp of each contestant, in which nothing is measured; zero for none
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
     * @param cpuNanos what processors each process used meanwhile, by what the process is
     * @param figures what else was measured, by its name
     */
    record Measured(long operations, long nanos, Map<String, Long> cpuNanos, Map<String, Double> figures) {
        /** The one process, where no other is looked at. */
        static final String CPU = "measured";

        /** Of the one process that is measured. */
        Measured(long operations, long nanos, long cpuNanos) {
            this(operations, nanos, Map.of(CPU, cpuNanos), Map.of());
        }

        double perSecond() {
            return operations * 1e9 / nanos;
        }

        /** Zero of a process that was not looked at. */
        double cpuMicrosEach(String process) {
            return cpuNanos.getOrDefault(process, 0L) / 1e3 / operations;
        }
    }

    /**
     * What became of one contestant.
     *
     * @param rounds as many as it went through
     * @param failed why it is out, in one line; null when it is not
     */
    record Series(List<Measured> rounds, @Nullable String failed) {}

    /** What became of each contestant, by its name, in the order of {@code contestants}. */
    Map<String, Series> run(Map<String, Contestant> contestants, PrintStream progress) throws InterruptedException {
        Map<String, List<Measured>> measured = new LinkedHashMap<>();
        Map<String, String> failed = new LinkedHashMap<>();
        for (Map.Entry<String, Contestant> each : contestants.entrySet()) {
            measured.put(each.getKey(), new ArrayList<>());
            if (!warmUp.isZero()) {
                progress.println("warming up: " + each.getKey());
                run(each, warmUp, failed, progress);
            }
        }
        for (int i = 1; i <= count; i++) {
            progress.println("round " + i + " of " + count);
            for (Map.Entry<String, Contestant> each : contestants.entrySet()) {
                List<Measured> rounds = measured.get(each.getKey());
                Measured result = failed.containsKey(each.getKey()) ? null : run(each, round, failed, progress);
                if (result != null && rounds != null && result.operations() > 0) {
                    rounds.add(result);
                } else {
                    failed.putIfAbsent(each.getKey(), "nothing was done within " + round.toMillis() + " ms");
                }
            }
        }
        Map<String, Series> series = new LinkedHashMap<>();
        measured.forEach((name, rounds) -> series.put(name, new Series(rounds, failed.get(name))));
        return series;
    }

    /** The same with one contestant, who has nobody to take turns with. */
    Series run(String name, Contestant contestant, PrintStream progress) throws InterruptedException {
        return Objects.requireNonNull(run(Map.of(name, contestant), progress).get(name));
    }

    private static @Nullable Measured run(
            Map.Entry<String, Contestant> contestant, Duration time, Map<String, String> failed, PrintStream progress)
            throws InterruptedException {
        try {
            return contestant.getValue().run(time);
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            failed.put(contestant.getKey(), String.valueOf(e.getMessage() == null ? e : e.getMessage()));
        }
        progress.println(contestant.getKey() + " is out: " + failed.get(contestant.getKey()));
        return null;
    }

    /** The middle one of {@code values}. */
    static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
