package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What an epoch leaves in memory for the next one. */
class TokenCounterTest {
    private static final long HIGH = 5;

    private final TokenCounter tokens = new TokenCounter(false, Asking.START, HIGH, 0);

    @Test
    void aBaseIsNoIssuedToken() {
        assertThat(tokens.base()).isGreaterThan(HIGH);
        assertThat(tokens.lastKnown()).isEqualTo(HIGH);
    }

    @Test
    void anIssuedTokenIsKnown() {
        tokens.issued(tokens.base() + 32);
        assertThat(tokens.lastKnown()).isEqualTo(tokens.base() + 32);
    }

    @Test
    void aTokenThatAHolderShowsIsKnownAlsoBelowTheBase() {
        tokens.raise(tokens.base() - 100, Asking.START);
        assertThat(tokens.last()).isEqualTo(tokens.base());
        assertThat(tokens.lastKnown()).isEqualTo(tokens.base() - 100);
        tokens.raise(tokens.base() - 200, Asking.START);
        assertThat(tokens.lastKnown()).isEqualTo(tokens.base() - 100);
    }

    @Test
    void whatTheLogHasCountedIsKnownAboveTheBaseOnly() {
        tokens.counted(tokens.base());
        assertThat(tokens.lastKnown()).isEqualTo(HIGH);
        tokens.counted(tokens.base() + 9);
        assertThat(tokens.lastKnown()).isEqualTo(tokens.base() + 9);
    }
}
