package dev.palisade.bench;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** What can be measured by itself, in the order in which it is. */
enum Part {
    /** Own locks of 1, 8 and 64 threads. */
    LOCKS,
    /** One lock that 8 and 64 threads want. */
    ONE_KEY,
    /** One lock that two clients hand to each other. */
    HAND_OFF,
    /** Own locks of 64 and 512 callers that block no thread. */
    ASYNC,
    /** Own locks of 512 virtual threads. */
    VIRTUAL,
    /** What the guard costs. */
    GUARD,
    /** What signatures cost. */
    SIGNATURES,
    /** Objects written with and without fence. */
    OBJECTS,
    /** What the gateway costs. */
    GATEWAY,
    /** What the metrics of a lock server cost. */
    METRICS,
    /** Leases that are held and nothing else. */
    IDLE,
    /** Memory of many names. */
    NAMES,
    /** How soon a lock server serves. */
    START,
    /** How long callers wait when another lock server takes over. */
    TAKEOVER;

    /** Whether something is done over and over; of the others the figures say all. */
    boolean hasRates() {
        return this != HAND_OFF && this != IDLE && this != NAMES && this != START && this != TAKEOVER;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Reads the name of one. */
    static final class Named implements ITypeConverter<Part> {
        @Override
        public Part convert(String value) {
            return Arrays.stream(values())
                    .filter(part -> part.toString().equals(value))
                    .findFirst()
                    .orElseThrow(() -> new TypeConversionException(
                            "'" + value + "' is no part; use one of " + Arrays.toString(values())));
        }
    }

    /** The names of all. */
    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(values()).map(Part::toString).iterator();
        }
    }
}
