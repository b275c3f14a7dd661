package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.failure;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A primary, a replica and three Sentinels: the link goes where they go. */
@Execution(ExecutionMode.CONCURRENT)
class SentinelsTest {
    private static final Duration FAILOVER_MAX = Duration.ofSeconds(60);

    private final WatchedPrimary watched = new WatchedPrimary();
    private final RedisProcess primary = watched.primary;
    private final RedisProcess replica = watched.replica;
    private final List<RedisProcess> sentinels = watched.sentinels;

    @BeforeEach
    void startSentinels() {
        watched.start(FAILOVER_MAX);
    }

    @AfterEach
    void stop() {
        watched.close();
    }

    @Test
    void aKilledPrimaryIsFollowedToTheReplica() throws Exception {
        try (RedisLink link = Linked.open(watched.uri())) {
            get(add(link, "k"));
            assertThat(LinkState.of(link).primary()).isEqualTo("127.0.0.1:" + primary.port());

            primary.kill9();
            awaitLinkedTo(link, replica);
            get(add(link, "k"));
            assertThat(LinkState.of(link).replicationId()).isEqualTo(replica.info("master_replid"));
        }
    }

    @Test
    void aFrozenPrimaryIsFollowedToTheReplicaAndNotGoneBackTo() throws Exception {
        try (RedisLink link = Linked.open(watched.uri())) {
            get(add(link, "k"));
            primary.freeze();
            assertThat(failure(add(link, "k")).isOutcomeUnknown()).isTrue();
            awaitLinkedTo(link, replica);
            get(add(link, "k"));

            primary.thaw(); // It says for a while that it is the primary, and takes writes.
            Reply answered = add(link, "k");
            get(answered);
            get(link.findPrimary(answered, "of a test"));
            assertThat(LinkState.of(link).primary()).isEqualTo("127.0.0.1:" + replica.port());
        }
    }

    @Test
    void aPrimaryThatStillAnswersIsLeftWhenTheSentinelsChooseAnother() throws Exception {
        try (RedisLink link = Linked.open(watched.uri())) {
            get(add(link, "k"));
            sentinels.get(0).ask("SENTINEL", "FAILOVER", "main");
            awaitLinkedTo(link, replica);
            get(add(link, "k"));
        }
    }

    @Test
    void whatAMajorityNamesIsGoneToWhileTheOldOneStillTakesWritesAndThoughItsConfigurationIsOlder() throws Exception {
        try (RedisLink link = Linked.open(watched.uri())) {
            sentinels.get(0).ask("SENTINEL", "FAILOVER", "main");
            awaitLinkedTo(link, replica);
            // A Sentinel waits for some rounds of its own before it makes a former primary a replica.
            await().atMost(FAILOVER_MAX).until(() -> primary.info("role").equals("slave"));

            await().atMost(FAILOVER_MAX).until(() -> {
                // Again if the failover was not over, and made it a replica once more.
                if (primary.info("role").equals("slave")) {
                    primary.ask("REPLICAOF", "NO", "ONE");
                    monitorAnew(sentinels, primary);
                }
                return isLinkedTo(link, primary);
            });
            assertThat(replica.info("role")).isEqualTo("master");
        }
    }

    @Test
    void oneSentinelWithAnOlderConfigurationIsNotBelieved() throws Exception {
        try (RedisLink link = Linked.open(watched.uri())) {
            sentinels.get(0).ask("SENTINEL", "FAILOVER", "main");
            awaitLinkedTo(link, replica);
            sentinels.get(0).kill9();
            sentinels.get(1).kill9();
            primary.ask("REPLICAOF", "NO", "ONE");
            monitorAnew(List.of(sentinels.get(2)), primary);

            await().until(() -> LinkState.of(link)
                    .lastFailure()
                    .equals("the Sentinels that answer know an older primary only, 127.0.0.1:" + primary.port()
                            + "; see that a majority of them can be reached"));
            assertThat(LinkState.of(link).primary()).isEqualTo("127.0.0.1:" + replica.port());
            get(add(link, "k"));
        }
    }

    @Test
    void oneSentinelIsEnoughToStartAndNoneIsNeededToGoOn() throws Exception {
        sentinels.get(0).kill9();
        sentinels.get(1).freeze();
        try (RedisLink link = Linked.open(watched.uri())) {
            get(add(link, "k"));
            sentinels.get(1).thaw();
            sentinels.get(1).kill9();
            sentinels.get(2).kill9();
            await().until(() -> LinkState.of(link).lastFailure().startsWith("Sentinel 127.0.0.1:"));
            assertThat(LinkState.of(link).up()).isTrue();
            assertThat(get(add(link, "k"))).isEqualTo(List.of(2L));
        }
    }

    /**
     * From now on they know {@code redis} as the primary, by a configuration older than any that a failover made. First all
     * forget, or one that has not yet would tell the others of the newer one.
     */
    private static void monitorAnew(List<RedisProcess> sentinels, RedisProcess redis) {
        sentinels.forEach(sentinel -> sentinel.ask("SENTINEL", "REMOVE", "main"));
        sentinels.forEach(sentinel ->
                sentinel.ask("SENTINEL", "MONITOR", "main", redis.host(), String.valueOf(redis.port()), "2"));
    }

    private static void awaitLinkedTo(RedisLink link, RedisProcess redis) {
        await().atMost(FAILOVER_MAX).until(() -> isLinkedTo(link, redis));
    }

    private static boolean isLinkedTo(RedisLink link, RedisProcess redis) {
        return LinkState.of(link).up() && LinkState.of(link).primary().equals("127.0.0.1:" + redis.port());
    }
}
