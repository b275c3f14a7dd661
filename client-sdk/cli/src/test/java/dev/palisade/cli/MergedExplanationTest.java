package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainedEvent;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MergedExplanationTest {
    private static ExplainedEvent event(long at, String what, String text) {
        return ExplainedEvent.newBuilder()
                .setAtEpochMillis(at)
                .setWhat(what)
                .setToken(33)
                .setText(text)
                .build();
    }

    private static ExplainReply reply(String summary, ExplainedEvent... events) {
        return ExplainReply.newBuilder()
                .setLock("orders/1")
                .setToken(33)
                .setSummary(summary)
                .addAllEvents(List.of(events))
                .build();
    }

    private static final ExplainedEvent GRANTED = event(100, "GRANTED", "granted");
    private static final ExplainedEvent EXPIRED = event(200, "EXPIRED", "expired");

    @Test
    void refusalsOfAllServersAreMerged() {
        ExplainReply merged = MergedExplanation.merged(
                List.of(
                        reply("first", GRANTED, EXPIRED, event(300, "REFUSED", "by shop")),
                        reply(
                                "second",
                                GRANTED,
                                EXPIRED,
                                event(250, "MARK_RAISED", "34"),
                                event(400, "REFUSED", "by till")),
                        reply("third", GRANTED, EXPIRED)),
                List.of("the lock server at 10.0.0.7:7600 did not reply"));
        assertThat(merged.getSummary())
                .as("of the server with the newest refusal")
                .isEqualTo("second");
        assertThat(merged.getEventsList())
                .extracting(ExplainedEvent::getText)
                .containsExactly("granted", "expired", "34", "by shop", "by till");
        assertThat(merged.getUnknownList())
                .containsExactly(
                        "The lock server at 10.0.0.7:7600 did not reply; refusals that guards reported to it are"
                                + " missing here.");
    }

    @Test
    void omittedEventsAreCounted() {
        ExplainedEvent[] many = IntStream.range(0, 101)
                .mapToObj(i -> event(i, "REFUSED", "call " + i))
                .toArray(ExplainedEvent[]::new);
        ExplainReply merged =
                MergedExplanation.merged(List.of(reply("first", many), reply("second", EXPIRED)), List.of());
        assertThat(merged.getEventsList()).hasSize(100);
        assertThat(merged.getUnknownList())
                .containsExactly("2 earlier events were left out of what the lock servers said: an explanation has the"
                        + " newest 100.");
    }

    @Test
    void explanationOfOneServerIsUnchanged() {
        ExplainReply only = reply("only", GRANTED, event(300, "REFUSED", "by shop"));
        assertThat(MergedExplanation.merged(List.of(only), List.of())).isEqualTo(only);
    }
}
