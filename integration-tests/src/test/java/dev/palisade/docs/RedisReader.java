package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.examples.GuardARedisScript;
import dev.palisade.examples.GuardARedisWrite;
import dev.palisade.guard.redis.FencedRedis;
import dev.palisade.redis.RedisProcess;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The reader of the Redis guide. */
final class RedisReader implements ReaderProgram {
    private final RedisProcess redis = RedisProcess.start();
    private final RedisClient client = RedisClient.create(redis.uri());
    private final StatefulRedisConnection<String, String> connection = client.connect();

    @Override
    public void run(String example, PageTerminal terminal) throws Exception {
        Path keyset = terminal.keyset();
        if (example.endsWith("/GuardARedisWrite.java")) {
            assertThat(GuardARedisWrite.run(connection, keyset, ReaderProgram.signed(keyset, "orders/42", 34)))
                    .isEqualTo(1);
            assertThatThrownBy(() ->
                            GuardARedisWrite.run(connection, keyset, ReaderProgram.signed(keyset, "orders/42", 33)))
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
            assertThat(connection.sync().hget("{orders/42}", "status")).isEqualTo("paid");
            assertThat(connection.sync().lrange("{orders/42}:log", 0, -1)).isEqualTo(List.of("paid"));
        } else if (example.endsWith("/GuardARedisScript.java")) {
            connection.sync().set("{stock/7}", "5");
            FencedRedis fenced =
                    FencedRedis.create(connection, KeysetFile.open(keyset).verifier("palisade"));
            assertThat(GuardARedisScript.run(fenced, ReaderProgram.signed(keyset, "stock/7", 34)))
                    .isFalse();
            assertThat(GuardARedisScript.run(fenced, ReaderProgram.signed(keyset, "stock/7", 34)))
                    .as("two are left")
                    .isTrue();
        } else {
            throw ReaderProgram.unknown(example);
        }
    }

    @Override
    public void sql(String statement) {
        throw ReaderProgram.unknown(statement);
    }

    @Override
    public void close() throws IOException {
        client.shutdown(0, 0, TimeUnit.SECONDS);
        redis.close();
    }
}
