package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;

/**
 * Token issuer under test.
 *
 * @param ours whether a violation fails the run
 * @param timeout of the wait of an incident for tokens
 */
record IssuerUnderTest(String name, boolean ours, Duration timeout, AppProcess.IssuerFactory factory) {
    private static final Duration SOON = Duration.ofSeconds(2);
    /** Allows for starting processes and retrying clients. */
    private static final Duration LATER = Duration.ofSeconds(6);

    static final List<IssuerUnderTest> ON_REDIS = List.of(
            new IssuerUnderTest(
                    "palisade",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.waiting(topology, addresses, SentinelStub.of(topology, addresses))),
            new IssuerUnderTest(
                    "palisade-resume",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.resuming(topology, addresses, SentinelStub.of(topology, addresses))),
            new IssuerUnderTest(
                    "naive", false, SOON, (topology, addresses) -> new NaiveIssuer(addresses, topology.primary())),
            new IssuerUnderTest("redisson", false, LATER, RedissonIssuer::new));

    static final List<IssuerUnderTest> ON_POSTGRESQL = List.of(
            new IssuerUnderTest(
                    "palisade",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.waiting(topology, addresses, MultiHostUri.of(topology, addresses))),
            new IssuerUnderTest(
                    "palisade-resume",
                    true,
                    LATER,
                    (topology, addresses) ->
                            PalisadeIssuer.resuming(topology, addresses, MultiHostUri.of(topology, addresses))),
            new IssuerUnderTest("naive", false, LATER, NaivePostgresIssuer::new));
}
