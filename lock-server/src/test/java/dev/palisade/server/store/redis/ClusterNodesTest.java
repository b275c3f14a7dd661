package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.failure;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Three primaries that share the slots: each call goes where its keys are. */
class ClusterNodesTest {
    private static final int NODES = 3;

    private final List<RedisProcess> nodes = new ArrayList<>();

    @BeforeEach
    void form() {
        for (int i = 0; i < NODES; i++) {
            RedisProcess node = RedisProcess.start("cluster-enabled yes", "cluster-node-timeout 2000");
            nodes.add(node);
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", String.valueOf(i + 1));
            node.ask(
                    "CLUSTER",
                    "ADDSLOTSRANGE",
                    String.valueOf(Route.SLOTS * i / NODES),
                    String.valueOf(Route.SLOTS * (i + 1) / NODES - 1));
        }
        for (RedisProcess other : nodes.subList(1, NODES)) {
            nodes.get(0).ask("CLUSTER", "MEET", "127.0.0.1", String.valueOf(other.port()));
        }
        await().until(() -> nodes.stream()
                .allMatch(node -> node.ask("CLUSTER", "INFO").contains("cluster_state:ok")
                        && node.ask("CLUSTER", "INFO").contains("cluster_known_nodes:" + NODES)));
    }

    @AfterEach
    void stop() {
        nodes.forEach(RedisProcess::close);
    }

    @Test
    void callsGoWhereTheirKeysAre() throws Exception {
        try (RedisLink link = open()) {
            assertThat(link.state().primary().split(",")).hasSize(NODES);
            List<Reply> replies = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                replies.add(add(link, "{" + i + "}:k"));
            }
            for (Reply reply : replies) {
                assertThat(get(reply)).isEqualTo(List.of(1L));
            }
            int kept = 0;
            for (RedisProcess node : nodes) {
                int here = Integer.parseInt(node.ask("DBSIZE"));
                assertThat(here).isPositive();
                kept += here;
            }
            assertThat(kept).isEqualTo(300);
        }
    }

    @Test
    void aSlotThatMovedIsFollowed() throws Exception {
        String key = keyOf(0);
        try (RedisLink link = open()) {
            String slot = String.valueOf(SlotHash.getSlot(key));
            String newOwner = nodes.get(2).ask("CLUSTER", "MYID");
            // The others hear of it later, from the two who know.
            nodes.get(2).ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);
            nodes.get(0).ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);

            assertThat(get(add(link, key))).isEqualTo(List.of(1L));
            assertThat(nodes.get(2).ask("GET", key)).isEqualTo("1");
        }
    }

    @Test
    void aSlotThatIsMovingIsAskedForWhereItsKeysAre() throws Exception {
        String key = keyOf(0);
        try (RedisLink link = open()) {
            String slot = String.valueOf(SlotHash.getSlot(key));
            nodes.get(1)
                    .ask("CLUSTER", "SETSLOT", slot, "IMPORTING", nodes.get(0).ask("CLUSTER", "MYID"));
            nodes.get(0)
                    .ask("CLUSTER", "SETSLOT", slot, "MIGRATING", nodes.get(1).ask("CLUSTER", "MYID"));

            assertThat(get(add(link, key))).isEqualTo(List.of(1L));
            assertThat(get(add(link, key))).isEqualTo(List.of(2L));
            assertThat(nodes.get(1).ask("CLUSTER", "COUNTKEYSINSLOT", slot)).isEqualTo("1");
        }
    }

    @Test
    void aNodeThatIsAwayTakesOnlyItsOwnSlotsWithIt() throws Exception {
        for (RedisProcess node : nodes) {
            node.ask("CONFIG", "SET", "cluster-require-full-coverage", "no");
        }
        try (RedisLink link = open()) {
            nodes.get(0).kill9();
            await().until(() -> !link.state().up());
            assertThat(failure(add(link, keyOf(0))).isOutcomeUnknown()).isFalse();
            // A cluster of three without one needs a moment to agree that two of them go on.
            await().ignoreExceptions().until(() -> get(add(link, keyOf(1))).size() == 1);

            nodes.get(0).restart();
            await().until(() -> link.state().up());
            await().ignoreExceptions().until(() -> get(add(link, keyOf(0))).size() == 1);
        }
    }

    private RedisLink open() throws Exception {
        return Linked.open(
                "redis-cluster://127.0.0.1:1,127.0.0.1:" + nodes.get(1).port());
    }

    /** A key whose slot is the node's at first. */
    private static String keyOf(int node) {
        for (int i = 0; ; i++) {
            int slot = SlotHash.getSlot("k-" + i);
            if (slot >= Route.SLOTS * node / NODES && slot < Route.SLOTS * (node + 1) / NODES) {
                return "k-" + i;
            }
        }
    }
}
