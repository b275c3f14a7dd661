package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RequestRatesTest {
    private long now = 1;
    private final RequestRates rates = new RequestRates(() -> now);

    @Test
    void aSecondsRequestsMayComeAtOnceAndEachPrincipalHasItsOwn() {
        for (int i = 0; i < 4; i++) {
            assertThat(rates.take("web", 4)).isZero();
        }
        assertThat(rates.take("web", 4)).isEqualTo(TimeUnit.MILLISECONDS.toNanos(250));
        assertThat(rates.take("ops", 4)).isZero();
        now += TimeUnit.MILLISECONDS.toNanos(250);
        assertThat(rates.take("web", 4)).isZero();
        assertThat(rates.take("web", 4)).isPositive();
    }

    @Test
    void aNewLimitCountsFromItsFirstRequest() {
        assertThat(rates.take("web", 1)).isZero();
        assertThat(rates.take("web", 1)).isPositive();
        assertThat(rates.take("web", 2)).isZero();
    }

    @Test
    void whatIsKeptIsBounded() {
        for (int i = 0; i < 30_000; i++) {
            assertThat(rates.take("client" + i, 1)).isZero();
        }
        assertThat(rates.size()).isLessThanOrEqualTo(10_001);
    }
}
