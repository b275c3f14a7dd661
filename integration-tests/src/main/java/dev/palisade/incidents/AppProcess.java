package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One simulated application process: its links to the nodes, its token issuer, and two threads that take tokens. It may
 * follow another primary than the other application.
 */
final class AppProcess implements AutoCloseable {
    /** Factory of token issuers. */
    interface IssuerFactory {
        TokenIssuer make(Topology<?> topology, Addresses addresses);
    }

    private final String name;
    private final Topology<?> topology;
    private final IssuerFactory factory;
    private final Map<String, Link> links = new TreeMap<>();
    private volatile TokenIssuer issuer;
    private @Nullable TokenClients clients;

    AppProcess(String name, Topology<?> topology, IssuerFactory factory) {
        this.name = name;
        this.topology = topology;
        this.factory = factory;
        topology.nodes().forEach(node -> links.put(node.name(), new Link(node.address(), Link.Deaths.TOLD)));
        this.issuer = factory.make(topology, this::address);
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

    /** Ends the issuer, which loses its memory. */
    void stop() {
        TokenIssuer former = issuer;
        issuer = new StoppedIssuer();
        former.close();
    }

    /** Starts a new issuer without memory. */
    void start() {
        issuer = factory.make(topology, this::address);
    }

    void startClients(TokenLog tokenLog) {
        clients = new TokenClients(this, topology, tokenLog);
    }

    /** Runs an action that takes tokens on the caller's thread while the other threads are paused. */
    void withPausedClients(Consumer<TokenClients> action) {
        TokenClients current = clients;
        if (current == null) {
            throw new IllegalStateException("side " + name + " takes no tokens yet");
        }
        current.pause(true);
        action.accept(current);
        current.pause(false);
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
        if (clients != null) {
            clients.stop();
        }
        issuer.close();
        links.values().forEach(Link::close);
    }
}
