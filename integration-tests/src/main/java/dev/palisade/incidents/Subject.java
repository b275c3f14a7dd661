package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Whose tokens are taken.
 *
 * @param ours whether a violation fails the run
 * @param patience how long an incident waits for tokens that may never come
 */
record Subject(String name, boolean ours, Duration patience, Side.Maker maker) {
    private static final Duration SOON = Duration.ofSeconds(2);
    /** Processes that start, and clients that send again before they give up. */
    private static final Duration LATER = Duration.ofSeconds(6);

    private static final List<Subject> ALL = List.of(
            new Subject("palisade", true, LATER, PalisadeIssuer::waiting),
            new Subject("palisade-resume", true, LATER, PalisadeIssuer::resuming),
            new Subject("naive", false, SOON, (topology, addresses) -> new NaiveIssuer(addresses, topology.primary())),
            new Subject("redisson", false, LATER, RedissonIssuer::new));

    static List<Subject> all() {
        return ALL;
    }

    static Optional<Subject> named(String name) {
        return ALL.stream().filter(subject -> subject.name().equals(name)).findFirst();
    }
}
