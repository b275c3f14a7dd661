package dev.palisade.incidents;

import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A kind of store whose failures are injected: its incidents, who issues tokens on it, and its processes. Immutable.
 *
 * @param name that of the subcommand of {@code palisade chaos}
 * @param topology starts the processes
 */
record StoreUnderTest<N extends Node>(
        String name, List<Incident<N>> incidents, List<IssuerUnderTest> issuers, Supplier<Topology<N>> topology) {
    static final StoreUnderTest<RedisNode> REDIS = new StoreUnderTest<>(
            "redis", List.of(RedisIncident.values()), IssuerUnderTest.ON_REDIS, RedisTopology::new);
    static final StoreUnderTest<PostgresNode> POSTGRESQL = new StoreUnderTest<>(
            "postgresql", List.of(PostgresIncident.values()), IssuerUnderTest.ON_POSTGRESQL, PostgresTopology::new);

    String command() {
        return "palisade chaos " + name;
    }

    Optional<IssuerUnderTest> issuer(String named) {
        return issuers.stream().filter(issuer -> issuer.name().equals(named)).findFirst();
    }

    Optional<Incident<N>> incident(String named) {
        return incidents.stream()
                .filter(incident -> incident.name().equals(named))
                .findFirst();
    }
}
