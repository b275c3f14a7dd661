package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.bench.Rounds.Series;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * Contestants that did the same.
 *
 * @param part of the benchmark
 * @param title what they did; no other comparison has it
 * @param base the contestant that the others are compared with; it need not be there
 * @param series by the name of the contestant
 */
record Comparison(Part part, String title, String base, Map<String, Series> series) {
    /** The base of those that only one lock service is in. */
    static final String NO_BASE = "";

    /** The median over all rounds of {@code contestant}; empty if it has none. */
    OptionalDouble median(String contestant, ToDoubleFunction<Measured> figure) {
        Series found = series.get(contestant);
        if (found == null || found.failed() != null || found.rounds().isEmpty()) {
            return OptionalDouble.empty();
        }
        return OptionalDouble.of(
                Rounds.median(found.rounds().stream().map(figure::applyAsDouble).toList()));
    }

    OptionalDouble perSecond(String contestant) {
        return median(contestant, Measured::perSecond);
    }

    /** The median of a figure by its name; empty if the rounds have none of that name. */
    OptionalDouble figure(String contestant, String name) {
        return median(contestant, measured -> measured.figures().getOrDefault(name, Double.NaN));
    }

    /** How many times {@code of} is {@code by}; empty unless both are there. */
    static Optional<Double> times(OptionalDouble of, OptionalDouble by) {
        return of.isPresent() && by.isPresent() && by.getAsDouble() != 0
                ? Optional.of(of.getAsDouble() / by.getAsDouble())
                : Optional.empty();
    }
}
