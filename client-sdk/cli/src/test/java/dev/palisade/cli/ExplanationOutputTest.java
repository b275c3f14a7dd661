package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainedEvent;
import dev.palisade.proto.v1.ReportedRefusal;
import org.junit.jupiter.api.Test;

class ExplanationOutputTest {
    private static final ExplainReply REPLY = ExplainReply.newBuilder()
            .setLock("x")
            .setToken(33)
            .setAtEpochMillis(1_700_000_012_000L)
            .setState("EXPIRED")
            .setSummary("Token 33 is over: 'a\u001b[31m' had it.")
            .addEvents(ExplainedEvent.newBuilder()
                    .setAtEpochMillis(1_700_000_000_000L)
                    .setWhat("GRANTED")
                    .setToken(33)
                    .setText("'a\nb' got the lock."))
            .addEvents(ExplainedEvent.newBuilder()
                    .setAtEpochMillis(1_700_000_099_000L)
                    .setWhat("REFUSED")
                    .setToken(33)
                    .setText("Refused.")
                    .setRefusal(ReportedRefusal.newBuilder()
                            .setGuard("shop")
                            .setResource("r")
                            .setReason("TOKEN_STALE")
                            .setPresentedToken(33)
                            .setMarkToken(65)
                            .setCount(2)))
            .addUnknown("Much\u202e.")
            .addAdvice("Acquire again.")
            .build();

    @Test
    void eventsAreListedInOrderAndEscaped() {
        assertThat(ExplanationOutput.shown(REPLY, true)).isEqualTo("""
                        The sequencer is genuine: this lock service signed it, for token 33.
                        Token 33 is over: 'a\\u{1b}[31m' had it.

                        2023-11-14T22:13:20.000Z, 12 s ago: GRANTED
                            'a\\u{a}b' got the lock.

                        2023-11-14T22:14:59.000Z, 0.0 s ago: REFUSED
                            Refused.

                        Not known:
                            Much\\u{202e}.

                        What to do:
                            Acquire again.
                        """);
    }

    @Test
    void longSentencesAreWrapped() {
        String sentence = "word ".repeat(50).strip();
        ExplainReply reply = ExplainReply.newBuilder()
                .setSummary(sentence)
                .addAdvice(sentence)
                .build();
        assertThat(ExplanationOutput.shown(reply, false).lines())
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(100))
                .hasSize(3 + 2 + 3);
    }

    @Test
    void jsonHasTheFieldsOfARefusal() {
        assertThat(ExplanationOutput.json(REPLY)
                        .get("events")
                        .getAsJsonArray()
                        .get(1)
                        .toString())
                .isEqualTo(
                        "{\"at\":\"2023-11-14T22:14:59.000Z\",\"what\":\"REFUSED\",\"token\":33,\"text\":\"Refused.\","
                                + "\"guard\":\"shop\",\"guard_principal\":\"\",\"resource\":\"r\",\"reason\":\"TOKEN_STALE\",\"presented_token\":33,"
                                + "\"mark_token\":65,\"count\":2}");
    }
}
