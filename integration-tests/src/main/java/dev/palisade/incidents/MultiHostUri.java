package dev.palisade.incidents;

import java.util.List;

/** Multi-host PostgreSQL URI, with which the lock server finds the primary itself. */
record MultiHostUri(List<String> addresses) implements PrimarySource {
    MultiHostUri {
        addresses = List.copyOf(addresses);
    }

    static MultiHostUri of(Topology<?> topology, Addresses reached) {
        return new MultiHostUri(topology.nodes().stream().map(reached::of).toList());
    }

    @Override
    public String uri() {
        return "postgresql://" + PostgresNode.USER + "@" + String.join(",", addresses) + "/" + PostgresNode.DATABASE;
    }

    @Override
    public void announce(String primary) {
        // The lock server selects the node with the latest timeline.
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
