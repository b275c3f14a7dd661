package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A primary and two replicas, as real processes, and who the primary is: what a sentinel would know. Replicas reach their primary over
 * links that can be harmed. The run's own thread changes it; everybody may ask.
 */
final class Topology implements AutoCloseable {
    private static final int NODES = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final List<Node> nodes = new ArrayList<>();
    private final Map<String, Link> links = new ConcurrentHashMap<>();
    private final List<Reign> reigns = new ArrayList<>();

    Topology() {
        for (int i = 1; i <= NODES; i++) {
            nodes.add(new Node("n" + i));
        }
        reigns.add(new Reign(nodes.get(0).name(), System.nanoTime(), Long.MAX_VALUE));
        heal();
    }

    List<Node> nodes() {
        return nodes;
    }

    /** Who the primary is. */
    synchronized Node primary() {
        String name = reigns.get(reigns.size() - 1).node();
        return nodes.stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    List<Node> replicas() {
        return nodes.stream().filter(node -> node != primary()).toList();
    }

    synchronized List<Reign> reigns() {
        return List.copyOf(reigns);
    }

    /** Makes a replica the primary. Nobody tells the old one, nor the clients. */
    void promote(Node next) {
        reign(next, () -> next.process().ask("REPLICAOF", "NO", "ONE"));
    }

    private void reign(Node next, Runnable promotion) {
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

    /**
     * A deposed primary that still runs is made a replica of its successor and taken back at once: in one write, so that nobody's call
     * comes in between.
     */
    void takeBack(Node former) {
        Node successor = primary();
        String[] address = link(former, successor).address().split(":", 2);
        reign(former, () -> {
            try (Socket socket =
                    new Socket(former.process().host(), former.process().port())) {
                socket.getOutputStream()
                        .write(("REPLICAOF " + address[0] + " " + address[1] + "\r\nREPLICAOF NO ONE\r\n")
                                .getBytes(StandardCharsets.US_ASCII));
                BufferedReader replies =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
                String both = replies.readLine() + replies.readLine();
                if (!both.equals("+OK+OK")) {
                    throw new IllegalStateException(former + " was not taken back, but answered " + both);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** Returns when {@code replica} has all that the primary has by now. */
    void awaitReplica(Node replica) {
        Waiting.until(
                replica + " has caught up",
                PATIENCE,
                () -> replica.process().info("master_link_status").equals("up"));
        long offset = Long.parseLong(primary().process().info("master_repl_offset"));
        Waiting.until(
                replica + " has all",
                PATIENCE,
                () -> Long.parseLong(replica.process().info("slave_repl_offset")) >= offset);
    }

    /** The way by which {@code replica} follows {@code primary}. */
    Link link(Node replica, Node primary) {
        return links.computeIfAbsent(
                replica.name() + ">" + primary.name(), ends -> new Link(primary.address(), Link.Deaths.TOLD));
    }

    /** From now on nothing more comes to {@code replica}: it lags. What was on its way is lost with the link. */
    void lag(Node replica, boolean cut) {
        Link link = link(replica, primary());
        if (cut) {
            link.refuse(true);
            link.cut();
        } else {
            link.freeze(Link.Way.ONWARD, Link.Way.BACK);
        }
    }

    void follow(Node replica, Node primary) {
        String address = link(replica, primary).address();
        int colon = address.lastIndexOf(':');
        replica.process().ask("REPLICAOF", address.substring(0, colon), address.substring(colon + 1));
    }

    /** All run, keep nothing on disk, go by the machine's clock, and follow the primary with all it has. */
    void heal() {
        links.values().forEach(link -> {
            link.refuse(false);
            link.cut();
            link.thaw();
        });
        Node primary = primary();
        for (Node node : nodes) {
            node.clock().ifPresent(clock -> clock.step(Duration.ZERO));
            node.disk().ifPresent(disk -> disk.delaySyncs(Duration.ZERO));
            if (!node.process().isAlive()) {
                node.forgetSnapshot();
                node.restart();
            }
            node.persist("save", "", "appendonly", "no", "maxmemory", "0", "maxmemory-policy", "noeviction");
            if (node != primary) {
                follow(node, primary);
            }
        }
        replicas().forEach(this::awaitReplica);
    }

    @Override
    public void close() {
        nodes.forEach(Node::close);
        links.values().forEach(Link::close);
    }
}
