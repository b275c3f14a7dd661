package dev.palisade.server.store.redis;

import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.log.BatchSpan;
import dev.palisade.server.store.log.BatchStorage;
import dev.palisade.server.store.log.OwnerKey;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A codec for arguments and replies of the functions of a log, in the order of their headers in {@code resources/redis}. */
final class LogCodec {
    static final String CHECK = "palisade_log_check";
    static final String CLAIM = "palisade_log_claim";
    static final String STATUS = "palisade_log_status";
    static final String APPEND = "palisade_log_append";
    static final String APPEND_FREEING = "palisade_log_append_freeing";

    /** In place of init, which says nothing of a log that lacks records: a server of an earlier release sends the same number of words. */
    private static final byte[] DAMAGED = Call.bytes("2");

    /** Fields of the head that say what the log holds. */
    static final List<String> CONTENTS =
            List.of("generation", "first", "next", "count", "seq", "writer", "base", "base_seq");

    private LogCodec() {}

    static List<byte[]> claim(
            ClaimRequest request, String keyId, String settings, long claimMillis, long settleMillis) {
        List<byte[]> words = new ArrayList<>();
        words.add(Call.bytes(request.writer().toString()));
        words.add(Call.bytes(request.server()));
        words.add(Call.bytes(request.address()));
        words.add(flag(request.returning()));
        words.add(request.damaged() ? DAMAGED : flag(request.init()));
        words.add(number(request.recoveryMillis()));
        words.add(number(claimMillis));
        words.add(number(settleMillis));
        words.add(number(request.past().term()));
        words.add(flag(request.past().resumes()));
        add(words, request.past().confirmed());
        add(words, request.past().unconfirmed());
        request.past().earlier().forEach(position -> add(words, position));
        words.add(Call.bytes(keyId + " " + settings)); // One word, because their number says whether there is a key.
        return words;
    }

    private static void add(List<byte[]> words, Position position) {
        words.add(Call.bytes(position.writer().toString()));
        words.add(number(position.seq()));
    }

    /** Null if the log cannot be used: then the second word says why. */
    static @Nullable ClaimReply reply(ClaimRequest request, List<Object> answer) {
        return switch (text(answer, 0)) {
            case "held" -> new ClaimReply.Held(text(answer, 1), text(answer, 2), number(answer, 3));
            case "settling" -> new ClaimReply.Settling(number(answer, 1));
            case "claimed" ->
                new ClaimReply.Claimed(
                        request.writer(),
                        number(answer, 1) == 1,
                        number(answer, 2) == 1,
                        new Position(WriterId.parse(text(answer, 3)), number(answer, 4)),
                        Long.parseLong(text(answer, 5)),
                        number(answer, 6),
                        number(answer, 7),
                        number(answer, 8));
            default -> null;
        };
    }

    /** Of the key with which the server signs that owns the log; empty unless that is another one. */
    static String ownerKeyId(List<Object> claimed) {
        return text(claimed, 0).equals("held") ? text(claimed, 4) : "";
    }

    /** Of the server that owns the log; empty unless that is another one. */
    static String ownerSettings(List<Object> claimed) {
        return text(claimed, 0).equals("held") ? text(claimed, 5) : "";
    }

    /** The owner of the log where a check looked, also a former one; empty without a log. */
    static Optional<OwnerKey> owner(List<Object> checked) {
        return checked.size() < 6
                ? Optional.empty()
                : Optional.of(new OwnerKey(text(checked, 3), text(checked, 4), number(checked, 5) == 1));
    }

    /**
     * What is where a check looked: {@code locks} of servers of an earlier release, which keep them in functions, or such {@code beside} a
     * log that was there first; the {@code mark} that they were moved into the log; without any of these a {@code log}, or {@code nothing}.
     */
    static String found(List<Object> checked) {
        return text(checked, 2);
    }

    /** Generation of the records of a log that was claimed. */
    static long generation(List<Object> claimed) {
        return number(claimed, 9);
    }

    /** Replicas that were connected when the log was claimed. */
    static long replicas(List<Object> claimed) {
        return number(claimed, 10);
    }

    static Optional<StoreStatus.SharedLog> status(List<Object> answer, long claimMillis) {
        if (!text(answer, 0).equals("status")) {
            return Optional.empty();
        }
        List<StoreStatus.Standby> standbys = new ArrayList<>();
        for (Object one : (List<?>) answer.get(10)) {
            List<Object> standby = new ArrayList<>((List<?>) one);
            standbys.add(new StoreStatus.Standby(text(standby, 1), number(standby, 2), number(standby, 3)));
        }
        standbys.sort(
                Comparator.comparing(StoreStatus.Standby::address).thenComparing(StoreStatus.Standby::sinceMillis));
        return Optional.of(new StoreStatus.SharedLog(
                number(answer, 6),
                text(answer, 4),
                text(answer, 1),
                number(answer, 2),
                number(answer, 3),
                claimMillis,
                number(answer, 5),
                new StoreStatus.Takeover(number(answer, 7), text(answer, 8), text(answer, 9)),
                standbys));
    }

    /** Generation that is written from memory; 0 for none. */
    static long rewriting(List<Object> claimed) {
        return number(claimed, 14);
    }

    static StoreStatus.Takeover takeover(List<Object> claimed) {
        return new StoreStatus.Takeover(Long.parseLong(text(claimed, 15)), text(claimed, 16), text(claimed, 17));
    }

    static BatchSpan batches(List<Object> claimed) {
        return new BatchSpan(number(claimed, 11), number(claimed, 12), number(claimed, 13));
    }

    /** Values of {@link #CONTENTS}; empty if there is no log. */
    static Optional<BatchStorage.Contents> contents(List<Object> fields) {
        if (fields.contains(null)) {
            return Optional.empty();
        }
        List<String> words = IntStream.range(0, CONTENTS.size())
                .mapToObj(i -> text(fields, i))
                .toList();
        List<Long> numbers = words.subList(0, 5).stream().map(Long::valueOf).toList();
        Position base = new Position(WriterId.parse(words.get(6)), Long.parseLong(words.get(7)));
        Position last = Position.last(WriterId.parse(words.get(5)), numbers.get(4), base);
        return Optional.of(new BatchStorage.Contents(
                numbers.get(0), new BatchSpan(numbers.get(1), numbers.get(2), numbers.get(3)), last));
    }

    /** @param batch empty for none */
    static List<byte[]> append(
            AppendRequest request, long claimMillis, BatchSpan before, BatchSpan after, byte[] batch, String keyId) {
        List<byte[]> words = new ArrayList<>();
        words.add(Call.bytes(request.writer().toString()));
        words.add(number(request.seq()));
        words.add(number(request.tokensBefore()));
        words.add(number(request.tokensAfter() - request.tokensBefore()));
        words.add(flag(request.yields()));
        words.add(flag(request.switches()));
        words.add(number(claimMillis));
        words.add(number(before.count()));
        words.add(number(after.first()));
        words.add(number(after.next()));
        words.add(number(after.count()));
        words.add(batch);
        words.add(Call.bytes(keyId));
        return words;
    }

    static boolean isStored(List<Object> answer) {
        return text(answer, 0).equals("stored");
    }

    static byte[] number(long number) {
        return Call.bytes(Long.toString(number));
    }

    private static byte[] flag(boolean set) {
        return Call.bytes(set ? "1" : "0");
    }

    static String text(List<Object> answer, int at) {
        return new String((byte[]) answer.get(at), StandardCharsets.UTF_8);
    }

    /** Texts of a list, with spaces between them. */
    static String joined(List<?> texts) {
        return texts.stream()
                .map(text -> new String((byte[]) text, StandardCharsets.UTF_8))
                .collect(Collectors.joining(" "));
    }

    static long number(List<Object> answer, int at) {
        return (Long) answer.get(at);
    }
}
