package dev.palisade.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Answer;
import org.junit.jupiter.api.Test;

class AcquireOutcomeTest {
    @Test
    void refusalOfAFullStoreCountsAsUnavailable() {
        assertThat(refused(Reason.STORE_UNAVAILABLE)).isEqualTo(AcquireOutcome.UNAVAILABLE);
        assertThat(refused(Reason.LIMIT_EXCEEDED)).isEqualTo(AcquireOutcome.REFUSED);
        assertThat(refused(Reason.RECOVERING)).isEqualTo(AcquireOutcome.REFUSED);
    }

    private static AcquireOutcome refused(Reason reason) {
        return AcquireOutcome.of(new Answer.Refused(new Rejection(reason, "why")), null);
    }
}
