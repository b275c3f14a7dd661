package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisConnectionException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectFailureTest {
    /** Both are Lettuce's words for a greeting that was cut short. */
    @ParameterizedTest
    @ValueSource(strings = {"Connection closed prematurely", "RedisHandshakeHandler not registered"})
    void closedGreetingIsNamedInOurWordsAndTriedAgain(String ofLettuce) {
        Throwable failure = new RedisConnectionException("Unable to connect", new IllegalStateException(ofLettuce));
        assertThat(ConnectFailure.isClosedEarly(failure)).isTrue();
        assertThat(ConnectFailure.refusal(new Address("db", 6379), false, failure))
                .hasMessageContaining("it closed the connection; if it is a port of TLS, use rediss://");
    }
}
