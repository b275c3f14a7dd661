package dev.palisade.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class TestRedisTest {

    @Test
    void theOneOfThisJvmAnswersAndIsOfTheWayThatWasAskedFor() throws Exception {
        TestRedis redis = TestRedis.get();
        URI uri = URI.create(redis.uri());
        assertThat(Resp.ask(uri.getHost(), uri.getPort(), Duration.ofSeconds(5), "PING"))
                .isEqualTo("PONG");
        assertThat(TestRedis.get()).isSameAs(redis);
        Way.wanted().ifPresent(way -> assertThat(redis.way()).isEqualTo(way));
    }
}
