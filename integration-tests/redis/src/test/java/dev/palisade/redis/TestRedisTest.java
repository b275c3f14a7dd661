package dev.palisade.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("redis-smoke")
class TestRedisTest {

    @Test
    void theOneOfThisJvmAnswersAndIsOfTheWayThatWasAskedFor() throws IOException {
        TestRedis redis = TestRedis.get();
        URI uri = URI.create(redis.uri());
        assertThat(Resp.ask(uri.getHost(), uri.getPort(), Duration.ofSeconds(5), "PING"))
                .isEqualTo("PONG");
        assertThat(redis).hasToString("Redis for tests: " + redis.way() + ", " + redis.uri());
        assertThat(TestRedis.get()).isSameAs(redis);
        Way.wanted().ifPresent(way -> assertThat(redis.way()).isEqualTo(way));
    }

    @Test
    void noTwoPrefixesAreTheSame() {
        assertThat(TestRedis.get().newPrefix()).isNotEqualTo(TestRedis.get().newPrefix());
    }

    @Test
    void oneThatIsGivenIsTakenBeforeAnyOther() {
        try (RedisProcess redis = RedisProcess.start("requirepass secret")) {
            String uri = "redis://:secret@127.0.0.1:" + redis.port();
            TestRedis given = TestRedis.find(Optional.empty(), Optional.of(uri));
            assertThat(given.way()).isEqualTo(Way.GIVEN);
            assertThat(given.uri()).isEqualTo(uri);
            assertThat(given).hasToString("Redis for tests: given, redis://***@127.0.0.1:" + redis.port());
        }
    }

    @Test
    void oneThatIsGivenAndNotThereFailsTheTests() {
        assertThatThrownBy(() -> TestRedis.find(Optional.empty(), Optional.of("redis://:secret@127.0.0.1:1")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("-Dpalisade.redis: nothing answers at 127.0.0.1:1 ");
    }

    @Test
    void aWayThatIsAskedForAndCannotBeHadFailsTheTests() {
        assertThatThrownBy(() -> TestRedis.find(Optional.of(Way.GIVEN), Optional.empty()))
                .hasMessage("no Redis for tests by -Dpalisade.redis.way; given: none");
    }

    @Test
    void theBundledOneIsFoundWhereNothingIsInstalled() {
        assertThat(RedisBinary.bundledOne().toString()).startsWith("the bundled redis-server 7.");
        try (RedisProcess redis =
                new RedisSetup().binary(RedisBinary.bundledOne()).start()) {
            assertThat(redis.info("executable"))
                    .isEqualTo(RedisBinary.bundledOne().file().toString());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"given", "docker", "path", "bundled"})
    void everyWayHasItsWord(String word) {
        assertThat(Way.parse(word)).map(Way::toString).contains(word);
    }

    @Test
    void anotherWordIsRefusedAndNoneAllowsAllWays() {
        assertThatThrownBy(() -> Way.parse("Docker"))
                .hasMessage("-Dpalisade.redis.way=Docker is none of given, docker, path, bundled");
        assertThat(Way.parse("")).isEmpty();
    }
}
