package dev.palisade.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("redis-smoke")
class RedisProcessTest {

    @Test
    void aProcessAnswersWhenStartReturnsAndIsGoneWithItsFolderAfterClose() {
        RedisProcess redis = RedisProcess.start();
        assertThat(redis.ask("SET", "a", "1")).isEqualTo("OK");
        assertThat(redis.ask("GET", "a")).isEqualTo("1");
        assertThat(redis.ask("GET", "b")).isEqualTo("nil");
        assertThat(redis.ask("CONFIG", "GET", "save")).isEqualTo("save\n");
        long pid = redis.pid();
        assertThat(redis.info("process_id")).isEqualTo(Long.toString(pid));

        redis.close();

        assertThat(ProcessHandle.of(pid)).isEmpty();
        assertThat(redis.folder()).doesNotExist();
    }

    @Test
    void aKilledOneStartsAgainOnItsPortWithWhatItPersisted() {
        try (RedisProcess redis = RedisProcess.start("appendonly yes", "appendfsync always")) {
            redis.ask("SET", "a", "1");
            long pid = redis.pid();
            int port = redis.port();

            redis.kill9();
            assertThat(redis.isAlive()).isFalse();
            assertThatThrownBy(() -> redis.ask("GET", "a")).hasMessageContaining("does not answer");
            redis.restart();

            assertThat(redis.port()).isEqualTo(port);
            assertThat(redis.pid()).isNotEqualTo(pid);
            assertThat(redis.ask("GET", "a")).isEqualTo("1");
        }
    }

    @Test
    void oneThatPersistsNothingForgets() {
        try (RedisProcess redis = RedisProcess.start()) {
            redis.ask("SET", "a", "1");
            redis.restart();
            assertThat(redis.ask("GET", "a")).isEqualTo("nil");
        }
    }

    @Test
    void aFrozenOneAnswersNothingUntilItIsThawed() {
        try (RedisProcess redis = RedisProcess.start()) {
            redis.freeze();
            assertThat(redis.isAlive()).isTrue();
            assertThatThrownBy(() -> redis.ask("PING")).hasMessageContaining("does not answer");
            redis.thaw();
            assertThat(redis.ask("PING")).isEqualTo("PONG");
            redis.freeze();
        }
    }

    @Test
    void aReplicaFollowsAndASentinelWatches() {
        try (RedisProcess primary = RedisProcess.start();
                RedisProcess replica = new RedisSetup().replicaOf(primary).start();
                RedisProcess sentinel =
                        new RedisSetup().sentinel("main", primary, 1).start()) {
            assertThat(replica.ask("ROLE")).startsWith("slave\n127.0.0.1\n" + primary.port());
            assertThat(sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"))
                    .isEqualTo("127.0.0.1\n" + primary.port());
        }
    }

    @Test
    void whatRedisRefusesIsToldWithItsWords() {
        assertThatThrownBy(() -> RedisProcess.start("no-such-line 1"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Bad directive");
        try (RedisProcess redis = RedisProcess.start("requirepass secret")) {
            assertThatThrownBy(() -> redis.ask("GET", "a")).hasMessageContaining("NOAUTH");
        }
    }

    @Test
    void aVariableOfTheEnvironmentReachesRedis(@TempDir Path folder) throws IOException {
        Path script = folder.resolve("redis-server");
        Files.writeString(
                script, "#!/bin/sh\necho \"$SEEN\"\nexec " + RedisBinary.find().file() + " \"$@\"\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();

        try (RedisProcess redis = new RedisSetup()
                .binary(new RedisBinary(script, false))
                .environment("SEEN", "by redis")
                .start()) {
            assertThat(redis.log()).startsWith("by redis\n");
        }
    }

    @Test
    void nothingIsPreloadedIntoAStaticBinary() {
        RedisSetup preloaded = new RedisSetup().binary(RedisBinary.bundledOne()).environment("LD_PRELOAD", "shim.so");
        assertThatThrownBy(preloaded::start).hasMessageContaining("linked statically");
    }
}
