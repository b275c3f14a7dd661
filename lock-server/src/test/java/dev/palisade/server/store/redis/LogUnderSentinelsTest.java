package dev.palisade.server.store.redis;

import static dev.palisade.server.store.log.Asking.name;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Reclaim;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Two lock servers over one log, in a primary with a replica and three Sentinels. */
@Execution(ExecutionMode.CONCURRENT)
class LogUnderSentinelsTest {
    private static final boolean RESUME = true;
    private static final boolean WAIT = false;
    private static final Duration FAILOVER_MAX = Duration.ofSeconds(20);
    private static final String HEAD = "p:{0}:log:head";
    private static final String TOKENS = "p:{0}:log:token";

    private final WatchedPrimary watched = new WatchedPrimary();
    private final RedisProcess primary = watched.primary;
    private final RedisProcess replica = watched.replica;
    private final List<RedisProcess> sentinels = watched.sentinels;
    private final LogServers servers = new LogServers(watched::uri);

    @BeforeEach
    void startSentinels() {
        watched.start(FAILOVER_MAX);
    }

    @AfterEach
    void stop() {
        servers.close();
        watched.close();
    }

    /** Of all that is stored from now on, the replica gets nothing. */
    private void stopReplication() {
        replica.ask("REPLICAOF", "127.0.0.1", "1");
    }

    @Test
    void memoryOutlivesAFailoverToAReplicaThatLagged() throws Exception {
        SharedLogStore a = servers.active(RESUME);
        SharedLogStore b = servers.standby(RESUME);
        stopReplication();
        try (Contender contender = new Contender(a, b)) {
            contender.awaitGrantOf(a);
            primary.kill9();
            Contender.awaitPromotion(replica);
            contender.awaitGrantOf(a);
            contender.assertHeldAt(a);
        }
    }

    @Test
    void afterAFailoverToAReplicaThatLaggedHoldersComeFirst() throws Exception {
        SharedLogStore a = servers.active(WAIT);
        SharedLogStore b = servers.standby(WAIT);
        stopReplication();
        try (Contender contender = new Contender(a, b)) {
            contender.awaitGrantOf(a);
            primary.kill9();
            Contender.awaitPromotion(replica);
            await().atMost(FAILOVER_MAX)
                    .until(() ->
                            a.ask(new Reclaim(name(Contender.HELD), contender.held.request(), contender.held.token()))
                                    instanceof Answer.Resumed);
            long granted = contender.awaitGrantOf(a);
            assertThat(granted)
                    .as("when the grace is over")
                    .isGreaterThanOrEqualTo(Long.parseLong(replica.ask("HGET", HEAD, "recovering")));
            contender.assertHeldAt(a);
        }
    }

    @Test
    void aFormerPrimaryThatWakesUpStoresNothing() throws Exception {
        SharedLogStore a = servers.active(RESUME);
        SharedLogStore b = servers.standby(RESUME);
        try (Contender contender = new Contender(a, b)) {
            contender.awaitGrantOf(a);
            primary.freeze();
            Contender.awaitPromotion(replica);
            contender.awaitGrantOf(a);
            long newer = contender.newestToken();
            primary.thaw();
            // It says for a while that it is the primary, and takes writes.
            List<Long> counts = new ArrayList<>();
            await().atMost(FAILOVER_MAX).until(() -> {
                long count = Long.parseLong(primary.ask("GET", TOKENS));
                if (primary.info("role").equals("slave")) {
                    return true;
                }
                counts.add(count);
                contender.assertHeldAt(a);
                return false;
            });
            contender.awaitGrantOf(a);
            assertThat(counts).isNotEmpty().allMatch(count -> count < newer);
        }
    }

    /** At a deposed primary, its tokens would be above those of the successor's. */
    @Test
    void aMinorityOfTheSentinelsConfirmsNoTakeover() throws Exception {
        SharedLogStore a = servers.active(WAIT);
        Grant held = a.granted(Contender.HELD);
        SharedLogStore b = servers.server("b:1", RedisLogConfig.Start.NEW, WAIT);
        await().until(() -> b.events.stream().anyMatch(line -> line.contains("standby")));
        sentinels.get(0).freeze();
        sentinels.get(1).freeze();
        a.close();
        await().during(Duration.ofSeconds(2)).atMost(Duration.ofSeconds(3)).until(() -> !b.isActive());
        sentinels.get(0).thaw();
        sentinels.get(1).thaw();
        await().atMost(FAILOVER_MAX).until(b::isActive);
        assertThat(b.ask(Contender.renewal(held))).isInstanceOf(Answer.Renewed.class);
    }
}
