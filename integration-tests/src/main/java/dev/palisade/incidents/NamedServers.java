package dev.palisade.incidents;

import java.util.List;

/** URI with all servers of PostgreSQL, among which the lock server itself finds the primary. */
record NamedServers(List<String> addresses) implements PrimarySource {
    NamedServers {
        addresses = List.copyOf(addresses);
    }

    static NamedServers of(Topology<?> topology, Addresses reached) {
        return new NamedServers(topology.nodes().stream().map(reached::of).toList());
    }

    @Override
    public String uri() {
        return "postgresql://" + PostgresNode.USER + "@" + String.join(",", addresses) + "/" + PostgresNode.DATABASE;
    }

    @Override
    public void announce(String primary) {
        // The lock server takes the one of the latest timeline.
    }

    @Override
    public void stopAnnouncing() {
        // Nothing was announced.
    }

    @Override
    public boolean isBinding() {
        return false;
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
