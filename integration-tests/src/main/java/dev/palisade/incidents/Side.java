package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One application process: its links to the nodes, its issuer and two threads that take tokens. Like an application it may follow another
 * primary than its neighbours.
 */
final class Side implements AutoCloseable {
    /** What makes an issuer, given how it reaches the nodes. */
    interface Maker {
        TokenIssuer make(Topology<?> topology, Addresses addresses);
    }

    private final String name;
    private final Topology<?> topology;
    private final Maker maker;
    private final Map<String, Link> links = new TreeMap<>();
    private volatile TokenIssuer issuer;
    private @Nullable Takers takers;

    Side(String name, Topology<?> topology, Maker maker) {
        this.name = name;
        this.topology = topology;
        this.maker = maker;
        topology.nodes().forEach(node -> links.put(node.name(), new Link(node.address(), Link.Deaths.TOLD)));
        this.issuer = maker.make(topology, this::address);
    }

    private String address(Node node) {
        return link(node).address();
    }

    String name() {
        return name;
    }

    Link link(Node node) {
        Link link = links.get(node.name());
        if (link == null) {
            throw new IllegalArgumentException(node + " is none of ours");
        }
        return link;
    }

    TokenIssuer issuer() {
        return issuer;
    }

    /** The process ends, and whatever it knew is gone. */
    void stop() {
        TokenIssuer former = issuer;
        issuer = new Nobody();
        former.close();
    }

    /** Another starts, which knows nothing. */
    void start() {
        issuer = maker.make(topology, this::address);
    }

    void take(Ledger ledger) {
        takers = new Takers(this, topology, ledger);
    }

    /** Takes tokens by the caller's own thread, while the threads of the application rest. */
    void alone(Consumer<Takers> taking) {
        Takers there = takers;
        if (there == null) {
            throw new IllegalStateException("side " + name + " takes no tokens yet");
        }
        there.rest(true);
        taking.accept(there);
        there.rest(false);
    }

    void heal() {
        links.values().forEach(link -> {
            link.refuse(false);
            link.thaw();
        });
        issuer.follow(topology.primary());
    }

    @Override
    public void close() {
        if (takers != null) {
            takers.stop();
        }
        issuer.close();
        links.values().forEach(Link::close);
    }
}
