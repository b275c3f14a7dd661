package dev.palisade.cli;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.LockServers.Replies;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ExplainedEvent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Merge of the explanations of all lock servers of one lock service. The servers share the history, but each knows only
 * the refusals that guards reported to it. The merge explains the newest of these refusals.
 */
final class MergedExplanation {
    /** The limit of one server's reply. */
    private static final int EVENTS_MAX = 100;

    private static final String REFUSED = "REFUSED";

    private record EventKey(String what, long token, String text) {
        static EventKey of(ExplainedEvent event) {
            return new EventKey(event.getWhat(), event.getToken(), event.getText());
        }
    }

    private MergedExplanation() {}

    /** Asks each server; a second time with the token of the newest refusal, where they explain different ones. */
    static ExplainReply of(LockServers servers, ExplainRequest request) throws Failed {
        Replies<ExplainReply> asked = servers.callEach(stub -> stub.explain(request));
        long token = newest(asked.replies()).getToken();
        if (asked.replies().stream().allMatch(reply -> reply.getToken() == token)) {
            return merged(asked.replies(), asked.missing());
        }
        ExplainRequest same = request.toBuilder().setToken(token).build();
        Replies<ExplainReply> again = servers.callEach(stub -> stub.explain(same));
        return merged(again.replies(), again.missing());
    }

    /**
     * @param replies about one token
     * @param missing as of {@link Replies}
     */
    static ExplainReply merged(List<ExplainReply> replies, List<String> missing) {
        ExplainReply most = newest(replies);
        List<ExplainedEvent> events = new ArrayList<>(most.getEventsList());
        Set<EventKey> known = new HashSet<>();
        events.forEach(event -> known.add(EventKey.of(event)));
        for (ExplainReply reply : replies) {
            reply.getEventsList().stream()
                    .filter(event -> known.add(EventKey.of(event)))
                    .forEach(events::add);
        }
        events.sort(Comparator.comparingLong(ExplainedEvent::getAtEpochMillis));
        ExplainReply.Builder merged = most.toBuilder()
                .clearEvents()
                .addAllEvents(events.subList(Math.max(0, events.size() - EVENTS_MAX), events.size()));
        int leftOut = events.size() - EVENTS_MAX;
        if (leftOut > 0) {
            merged.addUnknown((leftOut == 1 ? "One earlier event was" : leftOut + " earlier events were")
                    + " left out of what the lock servers said: an explanation has the newest " + EVENTS_MAX + ".");
        }
        for (String clause : missing) {
            merged.addUnknown(
                    clause.replaceFirst("^the", "The") + "; refusals that guards reported to it are missing here.");
        }
        return merged.build();
    }

    /** The one with the newest refusal; the first where none has one. */
    private static ExplainReply newest(List<ExplainReply> replies) {
        ExplainReply newest = replies.get(0);
        for (ExplainReply reply : replies) {
            if (lastRefusal(reply) > lastRefusal(newest)) {
                newest = reply;
            }
        }
        return newest;
    }

    private static long lastRefusal(ExplainReply reply) {
        return reply.getEventsList().stream()
                .filter(event -> event.getWhat().equals(REFUSED))
                .mapToLong(ExplainedEvent::getAtEpochMillis)
                .max()
                .orElse(0);
    }
}
