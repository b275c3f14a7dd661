package dev.palisade.redis;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** Where a Redis for tests is from. In the order in which they are tried. */
public enum Way {
    /** Somebody's server, named by {@code -Dpalisade.redis=redis://...}. */
    GIVEN,
    /** A container of an image that is on this machine. */
    DOCKER,
    /** A process of the {@code redis-server} on the PATH. */
    PATH,
    /** A process of the {@code redis-server} that a Maven artefact carries. */
    BUNDLED;

    static final String PROPERTY = "palisade.redis.way";

    /** The one way that the system property {@code palisade.redis.way} allows; empty: the first that can be had. */
    static Optional<Way> wanted() {
        return parse(System.getProperty(PROPERTY, ""));
    }

    static Optional<Way> parse(String word) {
        if (word.isBlank()) {
            return Optional.empty();
        }
        return Optional.of(Arrays.stream(values())
                .filter(way -> way.toString().equals(word))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "-D" + PROPERTY + "=" + word + " is none of given, docker, path, bundled")));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
