package dev.palisade.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.redis.FencedRedis;
import dev.palisade.redis.RedisProcess;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of the Redis guide do what the guide says they do. */
class RedisExamplesTest {
    @Test
    void guardedWriteAndScriptOfTheGuideAreAppliedOnce(@TempDir Path directory) throws Exception {
        Path keyset = directory.resolve("keys.json");
        KeysetFile keys = KeysetFile.openOrCreate(keyset);
        try (RedisProcess redis = RedisProcess.start()) {
            RedisClient client = RedisClient.create(redis.uri());
            try {
                StatefulRedisConnection<String, String> connection = client.connect();
                assertThat(GuardARedisWrite.run(connection, keyset, signed(keys, "orders/42", 34)))
                        .isEqualTo(1);
                assertThatThrownBy(() -> GuardARedisWrite.run(connection, keyset, signed(keys, "orders/42", 33)))
                        .isInstanceOfSatisfying(
                                RejectedException.class,
                                e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
                assertThat(connection.sync().hget("{orders/42}", "status")).isEqualTo("paid");
                assertThat(connection.sync().lrange("{orders/42}:log", 0, -1)).isEqualTo(List.of("paid"));
                connection.sync().set("{stock/7}", "5");
                FencedRedis fenced = FencedRedis.create(connection, keys.verifier("palisade"));
                assertThat(GuardARedisScript.run(fenced, signed(keys, "stock/7", 34)))
                        .isFalse();
                assertThat(GuardARedisScript.run(fenced, signed(keys, "stock/7", 34)))
                        .as("two are left")
                        .isTrue();
            } finally {
                client.shutdown(0, 0, TimeUnit.SECONDS);
            }
        }
    }

    private static SignedSequencer signed(KeysetFile keys, String lock, long token) {
        return keys.sign(new Sequencer(
                "palisade", new LockName(lock), Mode.EXCLUSIVE, new FencingToken(token), new GrantId(7, token), 0));
    }
}
