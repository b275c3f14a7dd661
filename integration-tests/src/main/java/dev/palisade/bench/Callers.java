package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Threads that take a lock and give it back, over and over: each its own, or all the same one.
 *
 * @param shared whether they all want one lock
 */
record Callers(Threads threads, boolean shared) {
    static final String FAIRNESS = "max/min";

    Measured run(Locks locks, Map<String, LongSupplier> clocks, Duration time) throws InterruptedException {
        List<Samples> waits =
                Stream.generate(Samples::new).limit(threads.count()).toList();
        Usage usage = Usage.begin(clocks);
        List<Long> pairs = threads.run(time, i -> shared ? ofOne(locks, waits.get(i)) : ofItsOwn(locks, i));
        long all = pairs.stream().mapToLong(Long::longValue).sum();
        return usage.end(all, shared ? figures(pairs, waits) : Map.of());
    }

    private static Threads.Work ofItsOwn(Locks locks, int number) {
        String name = "bench/own/" + number;
        return () -> locks.acquire(name).release();
    }

    private static Threads.Work ofOne(Locks locks, Samples waits) {
        return () -> {
            long asked = System.nanoTime();
            Locks.Hold hold = locks.acquire("bench/one");
            waits.add(System.nanoTime() - asked);
            hold.release();
        };
    }

    private static Map<String, Double> figures(List<Long> pairs, List<Samples> waits) {
        Samples all = new Samples();
        waits.forEach(all::addAll);
        Map<String, Double> figures = new LinkedHashMap<>(all.figures());
        // Of somebody who never had it, as if it had been once: no figure is infinite in JSON.
        figures.put(FAIRNESS, (double) Collections.max(pairs) / Math.max(1, Collections.min(pairs)));
        return figures;
    }
}
