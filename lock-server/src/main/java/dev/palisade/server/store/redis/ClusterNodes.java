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
    private final int slot;
    private final TopologyProbes probes;
    /** By the last answer. */
    private Slots known = new Slots(null, Set.of());

    /**
     * What a node knows.
     *
     * @param serving the slot; null if it is not known
     */
    private record Slots(@Nullable Address serving, Set<Address> primaries) {}

    ClusterNodes(StoreUri uri, int slot, Connector connector) {
        this.uri = uri;
        this.slot = slot;
        probes = new TopologyProbes(connector::connect);
    }

    @Override
    public boolean changes() {
        return true;
    }

    /** The slot's primary is asked last: it names itself, also when it is demoted and cut off from the others. */
    @Override
    public CompletableFuture<Address> read() {
        Set<Address> nodes = new LinkedHashSet<>(known.primaries);
        nodes.addAll(uri.addresses());
        Address serving = known.serving;
        if (serving != null) {
            nodes.remove(serving);
            nodes.add(serving);
        }
        return read(new ArrayList<>(nodes), 0, null);
    }

    private CompletableFuture<Address> read(List<Address> nodes, int next, @Nullable RedisUnusable failed) {
        if (next == nodes.size()) {
            return CompletableFuture.failedFuture(
                    failed == null ? RedisUnusable.of("the cluster has no nodes") : failed);
        }
        Address node = nodes.get(next);
        return ask(node)
                .thenApply(slots -> {
                    Address serving = slots.serving;
                    if (serving == null) {
                        throw new CompletionException(RedisUnusable.of(
                                "Redis " + node + " says that no node serves slot " + slot + "; see CLUSTER INFO"));
                    }
                    known = slots;
                    return serving;
                })
                .exceptionallyCompose(failure -> {
                    RedisUnusable refusal = RedisUnusable.of(failure);
                    String error = refusal.error();
                    if (error != null && error.contains("cluster support disabled")) {
                        refusal = RedisUnusable.of("Redis " + node + " is no node of a cluster; use redis://");
                    }
                    return read(nodes, next + 1, failed == null ? refusal : failed);
                });
    }

    /** By more than half of the primaries: so many elect a new one. */
    @Override
    public CompletableFuture<Boolean> confirms(Address primary) {
        CompletableFuture<Boolean> confirmed = new CompletableFuture<>();
        List<CompletableFuture<Boolean>> votes = new ArrayList<>();
        for (Address node : known.primaries) {
            votes.add(ask(node).handle((slots, failure) -> failure == null && primary.equals(slots.serving)));
        }
        for (CompletableFuture<Boolean> vote : votes) {
            var unusedEnd = vote.thenRun(() -> {
                long yes = votes.stream().filter(each -> each.getNow(false)).count();
                if (2 * yes > votes.size()) {
                    confirmed.complete(true);
                } else if (votes.stream().allMatch(CompletableFuture::isDone)) {
                    confirmed.complete(false);
                }
            });
        }
        return votes.isEmpty() ? CompletableFuture.completedFuture(false) : confirmed;
    }

    /** Each entry of the answer: first slot, last slot, then its primary and its replicas as host, port, ... */
    private CompletableFuture<Slots> ask(Address asked) {
        return probes.ask(asked, "CLUSTER", "SLOTS").thenApply(answer -> {
            Address serving = null;
            Set<Address> primaries = new LinkedHashSet<>();
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
            return new Slots(serving, primaries);
        });
    }
}
