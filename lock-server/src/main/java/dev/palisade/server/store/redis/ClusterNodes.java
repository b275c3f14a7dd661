package dev.palisade.server.store.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Asks a node of the cluster, and if it does not answer the next, which primary serves a slot. */
final class ClusterNodes implements Topology {
    private final StoreUri uri;
    private final TopologyProbes probes;
    private final int slot;
    /** Primaries, the slot's first: it is the first to know that the slot moved. */
    private Set<Address> known = Set.of();
    /** Did not answer last time, and are asked last: a frozen primary would delay each round by a timeout. */
    private final Set<Address> silent = new LinkedHashSet<>();

    ClusterNodes(StoreUri uri, int slot, Connector connector) {
        this.uri = uri;
        this.slot = slot;
        probes = new TopologyProbes(connector::connect);
    }

    @Override
    public boolean changes() {
        return true;
    }

    @Override
    public CompletableFuture<Route> read() {
        Set<Address> nodes = new LinkedHashSet<>(known);
        nodes.addAll(uri.addresses());
        silent.retainAll(nodes);
        nodes.removeAll(silent);
        nodes.addAll(silent);
        return read(new ArrayList<>(nodes), 0, null);
    }

    private CompletableFuture<Route> read(List<Address> nodes, int next, @Nullable RedisUnusable failed) {
        if (next == nodes.size()) {
            return CompletableFuture.failedFuture(
                    failed == null ? RedisUnusable.of("the cluster has no nodes") : failed);
        }
        Address node = nodes.get(next);
        return probes.ask(node, "CLUSTER", "SLOTS")
                .thenApply(answer -> {
                    silent.remove(node);
                    return parse(node, answer);
                })
                .exceptionallyCompose(failure -> {
                    silent.add(node);
                    RedisUnusable refusal = RedisUnusable.of(failure);
                    String error = refusal.error();
                    if (error != null && error.contains("cluster support disabled")) {
                        refusal = RedisUnusable.of("Redis " + node + " is no node of a cluster; use redis://");
                    }
                    return read(nodes, next + 1, failed == null ? refusal : failed);
                });
    }

    /** Each entry: first slot, last slot, then its primary and its replicas as host, port, ... */
    private Route parse(Address asked, List<Object> answer) {
        Address serving = null;
        List<Address> primaries = new ArrayList<>();
        for (Object entry : answer) {
            if (entry instanceof List<?> range
                    && range.size() > 2
                    && range.get(0) instanceof Long first
                    && range.get(1) instanceof Long last
                    && range.get(2) instanceof List<?> node
                    && node.get(1) instanceof Long port) {
                String host = node.get(0) instanceof byte[] name ? new String(name, StandardCharsets.UTF_8) : "";
                // A node that does not know its own address means: where you asked.
                Address primary =
                        new Address(host.isEmpty() || host.equals("?") ? asked.host() : host, port.intValue());
                primaries.add(primary);
                if (first <= slot && slot <= last) {
                    serving = primary;
                }
            }
        }
        if (serving == null) {
            throw new CompletionException(RedisUnusable.of(
                    "Redis " + asked + " says that no node serves slot " + slot + "; see CLUSTER INFO"));
        }
        known = new LinkedHashSet<>(List.of(serving));
        known.addAll(primaries);
        return new Route(serving, true);
    }
}
