package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.FenceConnection.text;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Mark;
import io.lettuce.core.RedisCommandExecutionException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** Parser of the replies of {@code fence.lua}: its outcomes as values and exceptions. Stateless; sends nothing. */
final class FenceReply {
    private FenceReply() {}

    /** An admitted call that was applied as a whole. */
    record Done(List<RedisReply> replies, Mark mark) {}

    /**
     * @throws dev.palisade.contract.RejectedException TOKEN_STALE, MARK_UNAVAILABLE or OUTCOME_UNKNOWN
     * @throws RedisCommandExecutionException nothing of the work was applied
     */
    static Done of(
            List<Object> reply,
            Binding binding,
            Sequencer sequencer,
            Access access,
            FenceScript script,
            int commandsInAll) {
        String resource = binding.resource();
        String outcome = text(reply.get(0));
        return switch (outcome) {
            case "done" -> new Done(RedisReply.listOf(list(reply.get(1))), mark(list(reply.get(2))));
            case "stale" ->
                throw stale(list(reply.get(1)), resource, sequencer, access).asException();
            case "refused" -> throw refused(reply, resource, commandsInAll, "the mark is as before");
            case "failed" -> throw failed(reply, resource, script, commandsInAll);
            case "damaged" -> throw RedisFenceRejections.damaged(resource);
            case "evicts" -> throw RedisFenceRejections.evicts(resource, text(reply.get(1)));
            default -> throw new IllegalStateException("fence.lua replied '" + outcome + "' for '" + resource + "'");
        };
    }

    private static RuntimeException failed(List<Object> reply, String resource, FenceScript script, int commandsInAll) {
        String error = text(reply.get(2));
        if (script.isCallers()) {
            return RedisFenceRejections.scriptFailed(resource, error);
        }
        int failed = Math.toIntExact((Long) reply.get(1));
        return failed == 1
                ? refused(reply, resource, commandsInAll, "the mark stays raised")
                : RedisFenceRejections.partlyApplied(resource, failed, commandsInAll, error);
    }

    /** @param fields those of the mark's hash, in the order of {@code fence.lua} */
    static Mark mark(List<?> fields) {
        String grant = text(fields.get(1));
        return new Mark(
                Long.parseLong(text(fields.get(0))),
                grant.isEmpty() ? null : GrantId.of(HexFormat.of().parseHex(grant)),
                Long.parseLong(text(fields.get(2))));
    }

    private static Rejection stale(List<?> fields, String resource, Sequencer sequencer, Access access) {
        Optional<Rejection> refusal = mark(fields)
                .refusal(
                        resource,
                        sequencer,
                        access,
                        Long.parseLong(text(fields.get(3))),
                        Long.parseLong(text(fields.get(4))));
        return refusal.orElseThrow(
                () -> new IllegalStateException("fence.lua refuses what the mark of '" + resource + "' admits"));
    }

    private static RedisCommandExecutionException refused(
            List<Object> reply, String resource, int commandsInAll, String mark) {
        return new RedisCommandExecutionException(text(reply.get(2)) + " (command " + reply.get(1) + " of "
                + commandsInAll + " on '" + resource + "'; nothing was applied, " + mark + ")");
    }

    private static List<?> list(Object value) {
        return (List<?>) value;
    }
}
