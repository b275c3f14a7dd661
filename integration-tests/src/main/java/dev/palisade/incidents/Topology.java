package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Replication topology of a primary and its replicas, as real processes, with the history of the primaries. Replicas
 * reach their primary over links that can get faults. Only the run's thread changes it; all threads may read.
 */
abstract class Topology<N extends Node> implements AutoCloseable {
    private final List<N> nodes;
    private final Map<String, Link> links = new ConcurrentHashMap<>();
    private final List<PrimaryTerm> terms = new ArrayList<>();

    /** @param nodes the primary first */
    Topology(List<N> nodes) {
        this.nodes = List.copyOf(nodes);
        terms.add(new PrimaryTerm(nodes.get(0).name(), System.nanoTime(), Long.MAX_VALUE));
    }

    List<N> nodes() {
        return nodes;
    }

    /** The current primary. */
    synchronized N primary() {
        String name = terms.get(terms.size() - 1).node();
        return nodes.stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    List<N> replicas() {
        return nodes.stream().filter(node -> node != primary()).toList();
    }

    synchronized List<PrimaryTerm> terms() {
        return List.copyOf(terms);
    }

    /** Promotes a replica, without notifying the old primary or the clients. */
    abstract void promote(N next);

    /** Ends the term of the primary, runs {@code promotion}, and begins the term of {@code next}. */
    void changePrimary(N next, Runnable promotion) {
        synchronized (this) {
            PrimaryTerm last = terms.remove(terms.size() - 1);
            terms.add(new PrimaryTerm(last.node(), last.fromNanos(), System.nanoTime()));
        }
        next.nextIncarnation();
        promotion.run();
        synchronized (this) {
            terms.add(new PrimaryTerm(next.name(), System.nanoTime(), Long.MAX_VALUE));
        }
    }

    /** Returns when {@code replica} has all that the primary has by now. */
    abstract void awaitCaughtUp(N replica);

    /** The link from {@code replica} to {@code primary}. */
    Link link(N replica, N primary) {
        return links.computeIfAbsent(
                replica.name() + ">" + primary.name(), ends -> new Link(primary.address(), Link.Deaths.TOLD));
    }

    /** Stops replication to {@code replica}. Data in flight is lost with the link. */
    void lag(N replica, boolean cut) {
        Link link = link(replica, primary());
        if (cut) {
            link.refuse(true);
            link.cut();
        } else {
            link.freeze(Link.Way.ONWARD, Link.Way.BACK);
        }
    }

    abstract void follow(N replica, N primary);

    void healLinks() {
        links.values().forEach(link -> {
            link.refuse(false);
            link.cut();
            link.thaw();
        });
    }

    /** Repairs everything: all nodes run, and the replicas have caught up with the primary. */
    abstract void heal();

    @Override
    public void close() {
        nodes.forEach(Node::close);
        links.values().forEach(Link::close);
    }
}
