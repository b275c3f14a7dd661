package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainedEvent;
import dev.palisade.proto.v1.ReportedRefusal;
import java.time.Instant;
import java.util.Optional;

/** Mapper of explanations from the wire format. Stateless. */
final class ExplanationMapper {
    private ExplanationMapper() {}

    static LockExplanation explanation(ExplainReply reply) {
        return new LockExplanation(
                new LockName(reply.getLock()),
                token(reply.getToken()),
                Instant.ofEpochMilli(reply.getAtEpochMillis()),
                reply.getState(),
                reply.getSummary(),
                reply.getEventsList().stream().map(ExplanationMapper::event).toList(),
                reply.getUnknownList(),
                reply.getAdviceList());
    }

    private static LockExplanation.Event event(ExplainedEvent event) {
        return new LockExplanation.Event(
                Instant.ofEpochMilli(event.getAtEpochMillis()),
                event.getWhat(),
                token(event.getToken()),
                event.getText(),
                event.hasRefusal() ? Optional.of(refusal(event.getRefusal())) : Optional.empty());
    }

    private static LockExplanation.Refusal refusal(ReportedRefusal refusal) {
        return new LockExplanation.Refusal(
                refusal.getGuard(),
                refusal.getPrincipal(),
                refusal.getResource(),
                refusal.getReason(),
                new FencingToken(refusal.getPresentedToken()),
                token(refusal.getMarkToken()),
                refusal.getCount());
    }

    private static Optional<FencingToken> token(long value) {
        return value == 0 ? Optional.empty() : Optional.of(new FencingToken(value));
    }
}
