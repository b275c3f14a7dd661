package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two lock servers over one log, in a Cluster of three primaries. The one that has the log has a replica. */
@Execution(ExecutionMode.CONCURRENT)
class LogInClusterTest {
    private static final int PRIMARIES = 3;
    private static final String SLOT = String.valueOf(SlotHash.getSlot("p:{0}:log:head"));

    private final List<RedisProcess> nodes = new ArrayList<>();
    private final LogServers servers = new LogServers(() -> "redis-cluster://127.0.0.1:"
            + nodes.get(0).port() + ",127.0.0.1:" + nodes.get(1).port());
    private RedisProcess first;
    private RedisProcess replica;

    @BeforeEach
    void form() {
        for (int i = 0; i <= PRIMARIES; i++) {
            RedisProcess node = RedisProcess.start("cluster-enabled yes", "cluster-node-timeout 1000");
            nodes.add(node);
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", String.valueOf(i + 1));
            if (i < PRIMARIES) {
                node.ask(
                        "CLUSTER",
                        "ADDSLOTSRANGE",
                        String.valueOf(SlotHash.SLOT_COUNT * i / PRIMARIES),
                        String.valueOf(SlotHash.SLOT_COUNT * (i + 1) / PRIMARIES - 1));
            }
        }
        first = nodes.get(Integer.parseInt(SLOT) * PRIMARIES / SlotHash.SLOT_COUNT);
        replica = nodes.get(PRIMARIES);
        for (RedisProcess other : nodes.subList(1, nodes.size())) {
            nodes.get(0).ask("CLUSTER", "MEET", "127.0.0.1", String.valueOf(other.port()));
        }
        await().until(() -> nodes.stream()
                .map(node -> node.ask("CLUSTER", "INFO"))
                .allMatch(known ->
                        known.contains("cluster_state:ok") && known.contains("cluster_known_nodes:" + nodes.size())));
        replica.ask("CLUSTER", "REPLICATE", id(first));
        await().until(() -> replica.info("master_link_status").equals("up"));
    }

    @AfterEach
    void stop() {
        servers.close();
        nodes.forEach(RedisProcess::close);
    }

    private static String id(RedisProcess node) {
        return node.ask("CLUSTER", "MYID");
    }

    /** Key by key, and a grant is asked for after each. */
    private void migrate(RedisProcess from, RedisProcess to, Contender contender) {
        to.ask("CLUSTER", "SETSLOT", SLOT, "IMPORTING", id(from));
        from.ask("CLUSTER", "SETSLOT", SLOT, "MIGRATING", id(to));
        for (String key :
                from.ask("CLUSTER", "GETKEYSINSLOT", SLOT, "100").lines().toList()) {
            contender.awaitAnswers();
            from.ask("MIGRATE", to.host(), String.valueOf(to.port()), key, "0", "5000");
        }
        contender.awaitAnswers();
        to.ask("CLUSTER", "SETSLOT", SLOT, "NODE", id(to));
        from.ask("CLUSTER", "SETSLOT", SLOT, "NODE", id(to));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void leasesOutliveTheMigrationOfTheSlot(boolean resumes) throws Exception {
        SharedLogStore a = servers.active(resumes);
        SharedLogStore b = servers.standby(resumes);
        try (Contender contender = new Contender(a, b)) {
            contender.awaitGrantOf(a);
            RedisProcess to = nodes.get(0) == first ? nodes.get(1) : nodes.get(0);
            migrate(first, to, contender);
            contender.awaitGrant();
            assertThat(first.ask("CLUSTER", "COUNTKEYSINSLOT", SLOT)).isEqualTo("0");
            contender.assertHeldAt(a.isActive() ? a : b);
        }
    }

    @Test
    void memoryOutlivesTheNodeThatHadTheLog() throws Exception {
        SharedLogStore a = servers.active(true);
        SharedLogStore b = servers.standby(true);
        try (Contender contender = new Contender(a, b)) {
            contender.awaitGrantOf(a);
            first.kill9();
            Contender.awaitPromotion(replica);
            contender.awaitGrantOf(a);
            contender.assertHeldAt(a);
        }
    }

    /** Each of the 256 domains of the earlier release has a slot of its own. */
    @Test
    void domainsOfAllPrimariesAreMoved() throws Exception {
        long highest = 1L << 42;
        for (int domain = 0; domain < 256; domain++) {
            String key = "p:{" + domain + "}:token";
            RedisProcess node = nodes.get(SlotHash.getSlot(key) * PRIMARIES / SlotHash.SLOT_COUNT);
            node.ask("SET", key, Long.toString(domain == 200 ? highest : domain + 1));
        }
        SharedLogStore server = servers.server("a:1", RedisLogConfig.Start.FROM_FUNCTIONS, true);
        await().until(server::isActive);
        assertThat(server.events)
                .anyMatch(line -> line.contains("moved_from_functions") && line.contains("tokens_above=" + highest));
        for (RedisProcess node : nodes.subList(0, PRIMARIES)) {
            assertThat(node.ask("KEYS", "p:*}:token")).isEmpty();
        }
    }
}
