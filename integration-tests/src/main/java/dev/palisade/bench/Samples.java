package dev.palisade.bench;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Times that were measured, in nanoseconds. One thread uses it. */
final class Samples {
    static final String P50 = "p50 µs";
    static final String P99 = "p99 µs";

    private long[] values = new long[1024];
    private int count;

    void add(long nanos) {
        if (count == values.length) {
            values = Arrays.copyOf(values, 2 * count);
        }
        values[count++] = nanos;
    }

    void addAll(Samples more) {
        for (int i = 0; i < more.count; i++) {
            add(more.values[i]);
        }
    }

    /** For a table; nothing if there are no times. */
    Map<String, Double> figures() {
        Map<String, Double> figures = new LinkedHashMap<>();
        if (count > 0) {
            figures.put(P50, micros(50));
            figures.put(P99, micros(99));
        }
        return figures;
    }

    int count() {
        return count;
    }

    /**
     * What {@code percent} of the times do not exceed, in microseconds.
     *
     * @throws IllegalStateException if there are none
     */
    double micros(double percent) {
        if (count == 0) {
            throw new IllegalStateException("no times");
        }
        long[] sorted = Arrays.copyOf(values, count);
        Arrays.sort(sorted);
        int rank = (int) Math.ceil(percent / 100 * count);
        return sorted[Math.max(1, rank) - 1] / 1e3;
    }
}
