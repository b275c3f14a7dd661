package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A primary and its replicas, as real processes, and the history of who the primary was. Replicas reach their primary over links that
 * can be harmed. The run's own thread changes it; everybody may ask.
 */
abstract class Topology<N extends Node> implements AutoCloseable {
    private final List<N> nodes;
    private final Map<String, Link> links = new ConcurrentHashMap<>();
    private final List<Reign> reigns = new ArrayList<>();

    /** @param nodes the primary first */
    Topology(List<N> nodes) {
        this.nodes = List.copyOf(nodes);
        reigns.add(new Reign(nodes.get(0).name(), System.nanoTime(), Long.MAX_VALUE));
    }

    List<N> nodes() {
        return nodes;
    }

    /** Who the primary is. */
    synchronized N primary() {
        String name = reigns.get(reigns.size() - 1).node();
        return nodes.stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    List<N> replicas() {
        return nodes.stream().filter(node -> node != primary()).toList();
    }

    synchronized List<Reign> reigns() {
        return List.copyOf(reigns);
    }

    /** Makes a replica the primary. Nobody tells the old one, nor the clients. */
    abstract void promote(N next);

    /** Ends the reign of the primary, does what makes {@code next} the primary, and begins the reign of that one. */
    void reign(N next, Runnable promotion) {
        synchronized (this) {
            Reign last = reigns.remove(reigns.size() - 1);
            reigns.add(new Reign(last.node(), last.fromNanos(), System.nanoTime()));
        }
        next.nextEra();
        promotion.run();
        synchronized (this) {
            reigns.add(new Reign(next.name(), System.nanoTime(), Long.MAX_VALUE));
        }
    }

    /** Returns when {@code replica} has all that the primary has by now. */
    abstract void awaitReplica(N replica);

    /** The way by which {@code replica} follows {@code primary}. */
    Link link(N replica, N primary) {
        return links.computeIfAbsent(
                replica.name() + ">" + primary.name(), ends -> new Link(primary.address(), Link.Deaths.TOLD));
    }

    /** From now on nothing more comes to {@code replica}: it lags. What was on its way is lost with the link. */
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

    /** All run as at the start, and follow the primary with all it has. */
    abstract void heal();

    @Override
    public void close() {
        nodes.forEach(Node::close);
        links.values().forEach(Link::close);
    }
}
