package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Grant;
import dev.palisade.server.store.redis.RedisLogs;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RedisSharedStoreTest extends SharedStoreInProduct {
    @Override
    SharedLogs openLogs() {
        return new RedisLogs(Asking.START);
    }

    private RedisLogs redis() {
        return (RedisLogs) logs;
    }

    @Test
    void aFullRedisStillFreesLocks() {
        Grant held = granted(a, "l", 1, 1);
        redis().redis.ask("CONFIG", "SET", "maxmemory", "1");
        CompletableFuture<Answer> refused = a.execute(acquire("m", 2, 1, TRY)).toCompletableFuture();
        live(a, 4_000);
        assertThat(refused).isCompletedExceptionally();
        assertThat(ask(a, release(name("l"), held))).isInstanceOf(Answer.Released.class);
        assertThat(((Answer.Refused) ask(a, acquire("m", 2, 2, TRY)))
                        .rejection()
                        .reason())
                .isEqualTo(Reason.STORE_UNAVAILABLE);
        redis().redis.ask("CONFIG", "SET", "maxmemory", "0");
        live(a, 1_000);
        assertThat(granted(a, "m", 2, 3).token().value())
                .isGreaterThan(held.token().value());
    }

    @Test
    void theActiveServerNoticesThatBatchesAreGone() {
        Grant kept = granted(a, "early", 1, 1);
        for (int i = 2; i < 80; i++) {
            granted(a, "late/" + i, 1, i);
        }
        logs.lose(SharedLogs.Loss.LATER_BATCHES);
        CompletableFuture<Answer> asked = a.execute(acquire("m", 3, 1, TRY)).toCompletableFuture();
        live(a, 3_000);
        assertThat(asked).isCompletedExceptionally();
        assertThat(log(a).takeover().why()).isEqualTo("DATA_LOST");
        assertThat(isRecovering(a, "late/70")).isTrue();
        assertThat(described(a, "early").holders().get(0).id()).isEqualTo(kept.id());
        live(a, 11_000);
        assertThat(isRecovering(a, "late/70")).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void theMemoryOfTheActiveServerIsWrittenBack(SharedLogs.Loss loss) throws Exception {
        theMemoryOfTheActiveServerIsWrittenBackAfter(loss);
    }

    // ---- keys that somebody wrote into by hand

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            SET p:{0}:log:token many | p:{0}:log:token | that is no count of tokens but 'many'
            SET p:{0}:log:token 007 | p:{0}:log:token | that is no count of tokens but '007'
            RPUSH p:{0}:log:token x | p:{0}:log:token | that is no count of tokens but a list
            RPUSH p:{0}:log:1 x | p:{0}:log:1 | that is no hash but a list
            """)
    void aKeyOfSomethingElseIsNamedAndTheActiveServerContinuesOnceItIsRestored(String write, String key, String is) {
        Grant held = granted(a, "l", 1, 1);
        ask(a, acquire("l", 2, 1, MINUTE));
        redis().redis.ask("RENAME", key, "aside");
        redis().redis.ask(write.split(" "));
        CompletableFuture<Answer> asked = a.execute(acquire("m", 3, 1, TRY)).toCompletableFuture();
        String line = "has a key " + key + " " + is
                + "; restore it, or delete it, which is a loss of data, or use another --store-prefix";
        livesUntil(a, line);
        assertThat(a.execute(acquire("m", 4, 1, TRY)).toCompletableFuture())
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withMessageContaining(line);
        live(b, 3_000);
        assertThat(b.status().up()).isFalse();
        assertThat(b.status().why()).contains(line);
        assertThat(logs.warnings()).as("one of each server").hasSize(2).allMatch(warning -> warning.contains(line));

        redis().redis.ask("RENAME", "aside", key);
        live(a, 500);
        assertThat(a.status().up()).isTrue();
        assertThat(described(a, "l").holders().get(0).id()).isEqualTo(held.id());
        assertThat(described(a, "l").waiters()).hasSize(1);
        assertThat(asked).as("what waited").isDone();
        assertThat(granted(a, "n", 3, 2).token().value())
                .isGreaterThan(held.token().value());
        assertThat(logs.warnings()).hasSize(2);
    }

    @ParameterizedTest
    @CsvSource({"writer, x", "base, ''", "seq, 1e3", "until, -1"})
    void aFieldOfTheHeadThatCannotBeReadIsNamed(String field, String value) {
        Grant held = granted(a, "l", 1, 1);
        String before = redis().redis.ask("HGET", "p:{0}:log:head", field);
        redis().redis.ask("HSET", "p:{0}:log:head", field, value);
        redis().set("a0", true); // The next append fails, whichever field it is.
        livesUntil(a, "whose field " + field + " cannot be read ('" + value + "'); restore it");
        redis().redis.ask("HSET", "p:{0}:log:head", field, before);
        live(a, 500);
        assertThat(described(a, "l").holders().get(0).id()).isEqualTo(held.id());
    }
}
