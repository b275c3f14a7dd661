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

/** Three primaries that share the slots, and a link to the one of a slot. */
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
                    String.valueOf(SlotHash.SLOT_COUNT * i / NODES),
                    String.valueOf(SlotHash.SLOT_COUNT * (i + 1) / NODES - 1));
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
    void callsGoToThePrimaryOfTheSlot() throws Exception {
        for (int node = 0; node < NODES; node++) {
            String key = keyOf(node);
            try (RedisLink link = open(key)) {
                assertThat(get(add(link, key))).isEqualTo(List.of(1L));
                assertThat(LinkState.of(link).primary()).isEqualTo(address(node));
            }
            assertThat(nodes.get(node).ask("GET", key)).isEqualTo("1");
        }
    }

    @Test
    void movedSlotIsFollowed() throws Exception {
        String key = keyOf(0);
        try (RedisLink link = open(key)) {
            String slot = String.valueOf(SlotHash.getSlot(key));
            String newOwner = nodes.get(2).ask("CLUSTER", "MYID");
            // The others hear of it later, from the two who know.
            nodes.get(2).ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);
            nodes.get(0).ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);

            Reply moved = add(link, key);
            assertThat(failure(moved).isOutcomeUnknown()).isFalse();
            await().until(() -> LinkState.of(link).primary().equals(address(2)));
            assertThat(get(add(link, key))).isEqualTo(List.of(1L));
            assertThat(nodes.get(2).ask("GET", key)).isEqualTo("1");
        }
    }

    /** A primary without contact to the other nodes still serves its slots. */
    @Test
    void primaryThatTheOthersDemotedIsLeft() throws Exception {
        String key = keyOf(0);
        String slot = String.valueOf(SlotHash.getSlot(key));
        nodes.get(0).ask("CONFIG", "SET", "cluster-require-full-coverage", "no");
        try (RedisLink link = open(key)) {
            Reply before = add(link, key);
            get(before);
            assertThat(get(link.isStillPrimary(before))).isTrue();

            String newOwner = nodes.get(2).ask("CLUSTER", "MYID");
            nodes.get(0).ask("CLUSTER", "FORGET", newOwner);
            nodes.get(0).ask("CLUSTER", "FORGET", nodes.get(1).ask("CLUSTER", "MYID"));
            nodes.get(2).ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);
            nodes.get(1).ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);
            assertThat(get(link.isStillPrimary(before))).isFalse();
            await().until(() -> LinkState.of(link).primary().equals(address(2)));
            assertThat(nodes.get(0).ask("GET", key)).isEqualTo("1");
        }
    }

    @Test
    void primaryIsNotConfirmedByAMinority() throws Exception {
        String key = keyOf(0);
        try (RedisLink link = open(key)) {
            Reply reply = add(link, key);
            get(reply);
            nodes.get(1).freeze();
            assertThat(get(link.isStillPrimary(reply))).as("by two of three").isTrue();
            nodes.get(2).freeze();
            assertThat(get(link.isStillPrimary(reply))).as("by itself alone").isFalse();
            nodes.get(1).thaw();
            nodes.get(2).thaw();
        }
    }

    @Test
    void callToASlotThatIsMovingIsRefused() throws Exception {
        String key = keyOf(0);
        try (RedisLink link = open(key)) {
            String slot = String.valueOf(SlotHash.getSlot(key));
            nodes.get(1)
                    .ask("CLUSTER", "SETSLOT", slot, "IMPORTING", nodes.get(0).ask("CLUSTER", "MYID"));
            nodes.get(0)
                    .ask("CLUSTER", "SETSLOT", slot, "MIGRATING", nodes.get(1).ask("CLUSTER", "MYID"));

            Reply refused = add(link, key);
            assertThat(failure(refused))
                    .hasMessageContaining("is moving this slot")
                    .matches(failure -> !failure.isOutcomeUnknown());
            assertThat(refused.isRefused()).isTrue();
            assertThat(LinkState.of(link).up()).isTrue();
        }
    }

    @Test
    void otherPrimariesAreOfNoConcern() throws Exception {
        for (RedisProcess node : nodes) {
            node.ask("CONFIG", "SET", "cluster-require-full-coverage", "no");
        }
        String key = keyOf(1);
        try (RedisLink before = open(key)) {
            nodes.get(0).kill9();
            nodes.get(2).ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
            // A cluster of three without one needs a moment to agree that two of them go on.
            await().ignoreExceptions().until(() -> get(add(before, key)).size() == 1);
            assertThat(LinkState.of(before).up()).isTrue();
            try (RedisLink after = open(key)) {
                assertThat(get(add(after, key)).get(0)).isInstanceOf(Long.class);
            }
        }
    }

    @Test
    void primaryThatCameBackIsLinkedAgain() throws Exception {
        String key = keyOf(0);
        try (RedisLink link = open(key)) {
            nodes.get(0).kill9();
            await().until(() -> !LinkState.of(link).up());
            assertThat(failure(add(link, key)).isOutcomeUnknown()).isFalse();

            nodes.get(0).restart();
            await().until(() -> LinkState.of(link).up());
            await().ignoreExceptions().until(() -> get(add(link, key)).size() == 1);
        }
    }

    private RedisLink open(String key) throws Exception {
        return Linked.open(
                "redis-cluster://127.0.0.1:1,127.0.0.1:" + nodes.get(1).port(), SlotHash.getSlot(key), Linked.TIMEOUT);
    }

    private String address(int node) {
        return "127.0.0.1:" + nodes.get(node).port();
    }

    /** A key whose slot is the node's at first. */
    private static String keyOf(int node) {
        for (int i = 0; ; i++) {
            int slot = SlotHash.getSlot("k-" + i);
            if (slot >= SlotHash.SLOT_COUNT * node / NODES && slot < SlotHash.SLOT_COUNT * (node + 1) / NODES) {
                return "k-" + i;
            }
        }
    }
}
