package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.all;
import static dev.palisade.server.store.redis.Linked.get;

import dev.palisade.contract.EventLog;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.LogState;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.log.BatchSpan;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** The functions of a log in a Redis of the test's own, with time, process and errors in the test's hand. */
final class LogInRedis implements AutoCloseable {
    static final String PREFIX = "p";
    static final long CLAIM_MILLIS = 2_000;
    static final long SETTLE_MILLIS = 1_000;
    private static final String KEY_ID = "1";
    /** No test here is about a slow Redis. */
    private static final Duration TIMEOUT = Duration.ofMinutes(1);

    final RedisProcess redis;
    final RedisLogKeys keys = new RedisLogKeys(PREFIX);
    private final RedisLink link;

    LogInRedis(RedisProcess redis, String code) throws Exception {
        this.redis = redis;
        redis.ask("FUNCTION", "FLUSH");
        redis.ask("FLUSHALL");
        link = RedisLink.open(
                new RedisLinkConfig(StoreUri.parse(redis.uri()), TIMEOUT),
                0,
                Library.of("palisade_log", code),
                Linked.LOOP,
                EventLog.NONE);
    }

    /** @param failsAt an error comes at which call of Redis; 0 for none */
    void set(long now, String instance, boolean forgets, int failsAt) {
        var unused = link.call(
                "palisade_log_test_set",
                keys.shared(),
                all(Long.toString(now), instance, forgets ? "1" : "0", Integer.toString(failsAt)));
    }

    ClaimReply claim(ClaimRequest request) throws Exception {
        List<Object> answer = get(claiming(request));
        ClaimReply reply = LogCodec.reply(request, answer);
        return Objects.requireNonNull(reply, () -> LogCodec.text(answer, 1));
    }

    Future<List<Object>> claiming(ClaimRequest request) {
        return link.call(
                LogCodec.CLAIM, keys.shared(), LogCodec.claim(request, KEY_ID, "", CLAIM_MILLIS, SETTLE_MILLIS));
    }

    /** What a server of an earlier release sends: all words but the last, the id of its key. */
    private List<Object> withoutKey(String function, List<byte[]> on, List<byte[]> words) throws Exception {
        return get(link.call(function, on, words.subList(0, words.size() - 1)));
    }

    ClaimReply claimWithoutKey(ClaimRequest request) throws Exception {
        List<byte[]> words = LogCodec.claim(request, KEY_ID, "", CLAIM_MILLIS, SETTLE_MILLIS);
        return Objects.requireNonNull(LogCodec.reply(request, withoutKey(LogCodec.CLAIM, keys.shared(), words)));
    }

    boolean appendWithoutKey(AppendRequest request) throws Exception {
        BatchSpan before = batches();
        List<byte[]> words =
                LogCodec.append(request, CLAIM_MILLIS, before, before.after(true, 1, 0), bytes("batch"), KEY_ID);
        return LogCodec.isStored(withoutKey(LogCodec.APPEND, keys.append(1), words));
    }

    String keyId() {
        return redis.ask("HGET", keys.head(), "key_id");
    }

    boolean append(AppendRequest request, BatchSpan before, long first, String batch) throws Exception {
        return LogCodec.isStored(get(appending(request, before, first, batch)));
    }

    /** @param first batch that is kept */
    Future<List<Object>> appending(AppendRequest request, BatchSpan before, long first, String batch) {
        BatchSpan after = before.after(!batch.isEmpty(), first, first - before.first());
        return link.call(
                LogCodec.APPEND,
                keys.append(1),
                LogCodec.append(request, CLAIM_MILLIS, before, after, bytes(batch), KEY_ID));
    }

    /** What the head says. */
    BatchSpan batches() {
        return new BatchSpan(
                Long.parseLong(redis.ask("HGET", keys.head(), "first")),
                Long.parseLong(redis.ask("HGET", keys.head(), "next")),
                Long.parseLong(redis.ask("HGET", keys.head(), "count")));
    }

    /** Whether the function raised. */
    static boolean raised(Future<List<Object>> called) throws Exception {
        try {
            get(called);
            return false;
        } catch (ExecutionException e) {
            return true;
        }
    }

    /** Everything but the records. */
    LogState state(String instance) throws Exception {
        List<Object> dump = get(link.call("palisade_log_test_dump", keys.shared(), List.of()));
        List<Object> seen = list(dump, 2);
        List<Object> settling = list(dump, 3);
        return new LogState(
                head(list(dump, 0)),
                Long.parseLong(LogCodec.text(dump, 1)),
                instance,
                seen.isEmpty()
                        ? null
                        : new LogState.Seen(
                                WriterId.parse(LogCodec.text(seen, 0)),
                                LogCodec.number(seen, 1),
                                position(seen, 2),
                                LogCodec.text(seen, 4)),
                settling.isEmpty()
                        ? null
                        : new LogState.Settling(
                                position(settling, 0), LogCodec.number(settling, 2), LogCodec.number(settling, 3)));
    }

    @SuppressWarnings("unchecked")
    private static List<Object> list(List<Object> from, int at) {
        return (List<Object>) from.get(at);
    }

    private static Position position(List<Object> from, int at) {
        return new Position(WriterId.parse(LogCodec.text(from, at)), LogCodec.number(from, at + 1));
    }

    private static LogState.@Nullable Head head(List<Object> flat) {
        Map<String, String> head = new HashMap<>();
        for (int i = 0; i < flat.size(); i += 2) {
            head.put(LogCodec.text(flat, i), LogCodec.text(flat, i + 1));
        }
        return head.isEmpty()
                ? null
                : new LogState.Head(
                        WriterId.parse(text(head, "writer")),
                        number(head, "seq"),
                        new Position(WriterId.parse(text(head, "base")), number(head, "base_seq")),
                        text(head, "whole").equals("1"),
                        number(head, "term"),
                        text(head, "server"),
                        text(head, "address"),
                        number(head, "until"),
                        text(head, "instance"),
                        number(head, "generation"),
                        number(head, "rewriting"),
                        number(head, "recovering"));
    }

    private static String text(Map<String, String> head, String field) {
        return Objects.requireNonNull(head.get(field), field);
    }

    private static long number(Map<String, String> head, String field) {
        return Long.parseLong(text(head, field));
    }

    /** Batches of the first generation, by number. */
    Map<String, String> stored() {
        Map<String, String> stored = new TreeMap<>();
        String[] lines = redis.ask("HGETALL", keys.batches(1)).split("\n", -1);
        for (int i = 0; i + 1 < lines.length; i += 2) {
            stored.put(lines[i], lines[i + 1]);
        }
        return stored;
    }

    /** A copy of head and count of tokens, for {@link #restore}. */
    List<String> image() {
        return List.of(redis.ask("HGETALL", keys.head()), redis.ask("GET", keys.tokens()));
    }

    /** The data go back to an earlier image. */
    void restore(List<String> image) {
        flush();
        String[] lines = image.get(0).split("\n", -1);
        if (lines.length > 1) {
            String[] words = new String[lines.length + 2];
            words[0] = "HSET";
            words[1] = keys.head();
            System.arraycopy(lines, 0, words, 2, lines.length);
            redis.ask(words);
        }
        if (!image.get(1).equals("nil")) {
            redis.ask("SET", keys.tokens(), image.get(1));
        }
    }

    void flush() {
        redis.ask("DEL", keys.head(), keys.tokens(), keys.batches(1));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        link.close();
    }
}
