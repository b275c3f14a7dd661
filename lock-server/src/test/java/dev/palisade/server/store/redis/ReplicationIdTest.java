package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.log.FencedLog;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A log in a Redis that gives itself another replication ID: by a promotion, which may lose data, or for its first replica. */
class ReplicationIdTest {
    private RedisLogs logs;
    private RedisProcess redis;
    private FencedLog log;
    private Claimed claimed;

    @BeforeEach
    void claim() throws Exception {
        logs = new RedisLogs(1_800_000_000_000L);
        redis = logs.redis;
        log = logs.open("a:1");
        logs.set("", false);
        claimed = (Claimed) log.claim(Past.NONE);
        store();
    }

    @AfterEach
    void close() {
        log.close();
        logs.close();
    }

    private void store() throws Exception {
        log.add(LogInRedis.bytes("r"));
        log.sync(64);
    }

    private Claimed claimAgain() throws Exception {
        return (Claimed)
                log.claim(new Past(claimed.term(), false, new Position(claimed.writer(), 1), Position.NONE, List.of()));
    }

    /** Until the primary has another ID than now. */
    private void awaitOtherId(Runnable change) {
        String before = redis.info("master_replid");
        change.run();
        await().until(() -> !redis.info("master_replid").equals(before));
    }

    private RedisProcess replica() {
        RedisProcess[] replica = {null};
        awaitOtherId(() -> replica[0] = new RedisSetup().replicaOf(redis).start());
        return replica[0];
    }

    private void promote() {
        awaitOtherId(() -> {
            redis.ask("REPLICAOF", "127.0.0.1", "1");
            redis.ask("REPLICAOF", "NO", "ONE");
        });
    }

    @Test
    void firstReplicaIsNoLoss() throws Exception {
        try (RedisProcess replica = replica()) {
            logs.pass(500);
            store();
            logs.pass(500);
            store();
            assertThat(replica.isAlive()).isTrue();
        }
    }

    @Test
    void firstReplicaIsNoLossToNextOwner() throws Exception {
        try (RedisProcess replica = replica()) {
            logs.pass(500);
            assertThat(claimAgain().whole()).isTrue();
            assertThat(replica.isAlive()).isTrue();
        }
    }

    @Test
    void promotionStoresNothingWhateverTheTime() {
        promote();
        logs.pass(500);
        log.add(LogInRedis.bytes("late"));
        assertThatThrownBy(() -> log.sync(64)).hasMessageContaining("did not store the batch before");
    }

    /** The ID before the promotion is forgotten with a first replica, so it looks like a Redis that was not promoted. */
    @Test
    void promotionBeforeFirstReplicaStoresNothing() {
        promote();
        try (RedisProcess replica = replica()) {
            assertThat(replica.isAlive()).isTrue();
            assertThat(redis.info("master_replid2")).matches("0+");
            logs.pass(1_000);
            log.add(LogInRedis.bytes("late"));
            assertThatThrownBy(() -> log.sync(64)).hasMessageContaining("did not store the batch before");
        }
    }
}
