package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;

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

    static final List<Subject> ON_REDIS = List.of(
            new Subject(
                    "palisade",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.waiting(topology, addresses, Announcer.of(topology, addresses))),
            new Subject(
                    "palisade-resume",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.resuming(topology, addresses, Announcer.of(topology, addresses))),
            new Subject("naive", false, SOON, (topology, addresses) -> new NaiveIssuer(addresses, topology.primary())),
            new Subject("redisson", false, LATER, RedissonIssuer::new));

    static final List<Subject> ON_POSTGRESQL = List.of(
            new Subject(
                    "palisade",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.waiting(topology, addresses, NamedServers.of(topology, addresses))),
            new Subject(
                    "palisade-resume",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.resuming(topology, addresses, NamedServers.of(topology, addresses))),
            new Subject("naive", false, LATER, NaivePostgresIssuer::new));
}
