package dev.palisade.incidents;

import java.util.List;

/** The URI of all servers of PostgreSQL: a lock server finds the primary itself, and nobody tells it. */
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
    public void tell(String primary) {
        // It is the one of the latest timeline.
    }

    @Override
    public void silence() {
        // There is nobody to be silent.
    }

    @Override
    public boolean binds() {
        return false;
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
