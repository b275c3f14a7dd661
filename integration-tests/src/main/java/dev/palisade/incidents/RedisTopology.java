package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;

/** A primary and two replicas of Redis, promoted as a sentinel would. */
final class RedisTopology extends Topology<RedisNode> {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    RedisTopology() {
        super(List.of(new RedisNode("n1"), new RedisNode("n2"), new RedisNode("n3")));
        heal();
    }

    @Override
    void promote(RedisNode next) {
        changePrimary(next, () -> next.process().ask("REPLICAOF", "NO", "ONE"));
    }

    @Override
    void awaitCaughtUp(RedisNode replica) {
        Polling.until(
                replica + " has caught up",
                TIMEOUT,
                () -> replica.process().info("master_link_status").equals("up"));
        long offset = Long.parseLong(primary().process().info("master_repl_offset"));
        Polling.until(
                replica + " has all",
                TIMEOUT,
                () -> Long.parseLong(replica.process().info("slave_repl_offset")) >= offset);
    }

    @Override
    void follow(RedisNode replica, RedisNode primary) {
        String address = link(replica, primary).address();
        int colon = address.lastIndexOf(':');
        replica.process().ask("REPLICAOF", address.substring(0, colon), address.substring(colon + 1));
    }

    /** All run, keep nothing on disk, go by the machine's clock, and follow the primary with all it has. */
    @Override
    void heal() {
        healLinks();
        RedisNode primary = primary();
        for (RedisNode node : nodes()) {
            node.clock().ifPresent(clock -> clock.step(Duration.ZERO));
            node.disk().ifPresent(disk -> disk.delaySyncs(Duration.ZERO));
            if (!node.isAlive()) {
                node.deleteSnapshot();
                node.restart();
            }
            node.persist("save", "", "appendonly", "no", "maxmemory", "0", "maxmemory-policy", "noeviction");
            if (node != primary) {
                follow(node, primary);
            }
        }
        replicas().forEach(this::awaitCaughtUp);
    }
}
