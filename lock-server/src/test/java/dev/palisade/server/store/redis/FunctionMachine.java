package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockMachine;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Machine;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Poll;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Telling;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Waiter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decides with the lock machine, lets the functions in a real Redis decide the same, and demands that they agree: answer, events,
 * the whole state, the counter, the history.
 */
final class FunctionMachine implements Machine, AutoCloseable {
    private static final long FLOOR = 0;

    private final String library;
    private final String prefix;
    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final RedisAsyncCommands<byte[], byte[]> redis;
    private @Nullable LockState last;
    private long startedMillis;
    private long recoveringUntilMillis;
    private long lastToken = -1;
    private int forced;
    private long step;
    private boolean stopAtEachCall;
    private int stops;
    private int renewed;

    /** @param library the name under which the functions are loaded */
    FunctionMachine(RedisClient client, String library, String prefix) {
        this.library = library;
        this.prefix = prefix;
        this.connection = client.connect(ByteArrayCodec.INSTANCE);
        this.redis = connection.async();
    }

    @Override
    public Decision step(
            LockState state, Command command, long nowMillis, long token, long recoveringUntil, Limits limits) {
        Decision expected = LockMachine.step(state, command, nowMillis, token, recoveringUntil, limits);
        Domain domain = new Domain(prefix, state.name().domain());
        String settings = limits.offerMillis() + " " + limits.waitersPerLockMax() + " " + limits.holdersPerLockMax()
                + " " + limits.acquireAgeMaxMillis() + " test";
        List<byte[]> words = CommandWords.of(command, CommandWords.text(settings), FLOOR, alive(command, nowMillis));
        if (stopAtEachCall) {
            List<byte[]> keys = domain.keys(state.name());
            stopAtEachCall(domain, state, expected, nowMillis, token, recoveringUntil, function(command), keys, words);
            if (command instanceof Renew renew) {
                stopAtEachCall(
                        domain,
                        state,
                        expected,
                        nowMillis,
                        token,
                        recoveringUntil,
                        "renewals",
                        ofSeveral(renew, domain),
                        ofSeveral(renew, settings));
            }
        }
        prepare(domain, state, nowMillis, token, recoveringUntil);
        boolean together = command instanceof Renew renew && step % 2 == 0 && isRenewed(renew, domain, settings);
        RedisFuture<List<Object>> called = together ? null : call(function(command), domain.keys(state.name()), words);
        RedisFuture<List<Object>> dumped = call("test_dump", domain.keys(state.name()), List.of());
        List<Object> dump = get(dumped);
        String at = "step " + ++step + " at " + nowMillis + ": " + command;
        if (called == null) {
            assertThat(expected.answer()).as("answer of %s", at).isInstanceOf(Answer.Renewed.class);
            assertThat(toldEvents(expected)).as("events of %s", at).isEmpty();
        } else {
            List<Object> reply = get(called);
            assertThat(FunctionAnswer.isSuspect(reply)).as("continuity").isFalse();
            FunctionAnswer told = new FunctionAnswer(state.name(), reply, nowMillis);
            assertThat(plain(told.answer())).as("answer of %s", at).isEqualTo(plain(expected.answer()));
            assertThat(told.changes().events()).as("events of %s", at).isEqualTo(toldEvents(expected));
        }
        assertThat(Long.parseLong(FunctionAnswer.string(dump.get(6))))
                .as("counter after %s", at)
                .isEqualTo(expected.lastToken());
        history(domain, state, expected, nowMillis, dump, at);
        LockState found = state(state.name(), dump);
        if (mayBeForgotten(dump, expected.next(), nowMillis)) {
            last = null;
        } else {
            assertThat(found).as("state after %s", at).isEqualTo(expected.next());
            isLookedAtInTime(expected.next(), nowMillis, dump, at);
            last = expected.next();
        }
        lastToken = expected.lastToken();
        return expected;
    }

    /** It is gone, and was of no use to anybody: no end that a duplicate may ask for. */
    private static boolean mayBeForgotten(List<Object> dump, LockState state, long nowMillis) {
        boolean forgotten = FunctionAnswer.number(dump.get(7)) == 1;
        return forgotten
                && !state.inUse(nowMillis)
                && (state.tombstones().isEmpty() || state.forgettableAtMillis() <= nowMillis);
    }

    /** By whoever looks at what is due. */
    private static void isLookedAtInTime(LockState state, long nowMillis, List<Object> dump, String at) {
        long deadline = state.nextDeadlineMillis(nowMillis);
        if (deadline != Long.MAX_VALUE) {
            assertThat(dump.get(9)).as("when it is due after %s", at).isNotNull();
            assertThat(FunctionAnswer.number(dump.get(9)))
                    .as("when it is due after %s", at)
                    .isLessThanOrEqualTo(deadline);
        }
    }

    /** Every second renewal is asked for as one of several is; most of those that succeed are done by that. */
    private boolean isRenewed(Renew renew, Domain domain, String settings) {
        List<Object> reply = get(call("renewals", ofSeveral(renew, domain), ofSeveral(renew, settings)));
        boolean done = FunctionAnswer.string(reply.get(0)).equals("1");
        renewed += done ? 1 : 0;
        return done;
    }

    private static List<byte[]> ofSeveral(Renew renew, Domain domain) {
        return List.of(domain.token, domain.due, domain.lockKey(renew.lock()));
    }

    private static List<byte[]> ofSeveral(Renew renew, String settings) {
        return List.of(
                CommandWords.text(settings),
                renew.session().toBytes(),
                number(FLOOR),
                renew.grant().toBytes(),
                number(renew.token().value()));
    }

    int renewedTogether() {
        return renewed;
    }

    /** From now on every command is first tried with an error at its first call of Redis, at its second, and so on. */
    void stopAtEachCall() {
        stopAtEachCall = true;
    }

    int stops() {
        return stops;
    }

    private void stopAtEachCall(
            Domain domain,
            LockState state,
            Decision expected,
            long nowMillis,
            long token,
            long recoveringUntil,
            String function,
            List<byte[]> keys,
            List<byte[]> words) {
        for (int at = 1; ; at++) {
            last = null;
            lastToken = -1;
            prepare(domain, state, nowMillis, token, recoveringUntil);
            get(send("test_now", List.of(), List.of(number(nowMillis), number(at))));
            boolean failed = call(function, keys, words)
                    .handle((reply, failure) -> failure != null)
                    .toCompletableFuture()
                    .join();
            long calls = FunctionAnswer.number(
                    get(call("test_calls", List.of(), List.of())).get(0));
            if (calls < at) {
                break;
            }
            get(send("test_now", List.of(), List.of(number(nowMillis), number(0))));
            List<Object> dump = get(call("test_dump", domain.keys(state.name()), List.of()));
            LockState left = state(state.name(), dump);
            if (!mayBeForgotten(dump, expected.next(), nowMillis)) {
                assertThat(left)
                        .as("left by %s stopped at its call %d", function, at)
                        .isIn(state, expected.next());
            }
            isLookedAtInTime(left, nowMillis, dump, function + " stopped at its call " + at);
            stops += failed ? 1 : 0;
        }
        last = null;
        lastToken = -1;
    }

    /** The lock as it is after a step at the start of an epoch that finds it in {@code state}. */
    LockState restarted(LockState state, long startMillis) {
        Domain domain = new Domain(prefix, state.name().domain());
        prepare(domain, state, startMillis, 0, 0);
        get(send("test_epoch", List.of(domain.token), List.of(number(0), number(startMillis), number(0))));
        List<byte[]> keys = domain.keys(state.name());
        Command look = new Describe(state.name());
        get(call(function(look), keys, CommandWords.of(look, CommandWords.text("2000 9 9 9 test"), FLOOR, 0)));
        return state(state.name(), get(call("test_dump", keys, List.of())));
    }

    /** Makes Redis stand where the machine stands, when something else than a command brought it there. */
    private void prepare(Domain domain, LockState state, long nowMillis, long token, long recoveringUntil) {
        List<RedisFuture<?>> sent = new ArrayList<>();
        sent.add(send("test_now", List.of(), List.of(number(nowMillis), number(0))));
        if (token != lastToken || recoveringUntil != recoveringUntilMillis) {
            recoveringUntilMillis = recoveringUntil;
            sent.add(send(
                    "test_epoch",
                    List.of(domain.token),
                    List.of(number(token), number(startedMillis), number(recoveringUntil))));
        }
        if (!state.equals(last)) {
            sent.add(send("test_put", domain.keys(state.name()), put(state, nowMillis)));
        }
        sent.forEach(FunctionMachine::get);
    }

    private static long alive(Command command, long nowMillis) {
        long until = command instanceof Acquire acquire
                ? acquire.aliveUntilMillis()
                : command instanceof Poll poll ? poll.aliveUntilMillis() : Long.MAX_VALUE;
        return until == Long.MAX_VALUE ? CommandWords.NEVER : until - nowMillis;
    }

    private static List<LockEvent> toldEvents(Decision decision) {
        return decision.events().stream()
                .filter(event -> event instanceof LockEvent.Offered
                        || event instanceof LockEvent.Ended
                        || event instanceof LockEvent.ReleaseRequested)
                .toList();
    }

    /** Without what only people read. */
    private static Object plain(Answer answer) {
        if (answer instanceof Answer.Refused refused) {
            Map<String, String> metadata = refused.rejection().metadata();
            return refused.rejection().reason() + " " + metadata.get(Rejection.ENDED) + " "
                    + metadata.get(Rejection.DETAIL) + " " + metadata.get(Rejection.RETRY_AFTER_MILLIS);
        }
        if (answer instanceof Answer.Described described) {
            LockState all = described.state();
            return new LockState(
                    all.name(),
                    all.holders(),
                    all.offers(),
                    all.waiters(),
                    Tombstones.NONE,
                    all.lockDelayUntilMillis(),
                    all.minimumHoldUntilMillis(),
                    all.forgottenUntilMillis());
        }
        return answer;
    }

    /** What is told of the past of {@code lock}. */
    List<HistoryEntry> history(LockName lock) {
        Domain domain = new Domain(prefix, lock.domain());
        List<Object> told = get(call(
                "history", List.of(domain.lockKey(lock), domain.history), List.of(CommandWords.text(lock.value()))));
        List<HistoryEntry> entries = new ArrayList<>();
        for (Object entry : FunctionAnswer.list(told.get(2))) {
            entries.add(RedisStore.entry(FunctionAnswer.list(entry), 0));
        }
        RedisStore.markGaps(entries, told);
        return entries;
    }

    private void history(
            Domain domain, LockState before, Decision decision, long nowMillis, List<Object> dump, String at) {
        List<HistoryEntry> ordinary = new ArrayList<>();
        int[] forcedNow = {0};
        Telling.of(before, decision, nowMillis, (lock, entry) -> {
            if (entry.what() == HistoryEntry.What.FORCE_RELEASED) {
                forcedNow[0]++;
            } else {
                ordinary.add(entry);
            }
        });
        List<HistoryEntry> kept = new ArrayList<>();
        for (Object entry : FunctionAnswer.list(dump.get(8))) {
            kept.add(RedisStore.entry(FunctionAnswer.list(entry), 0));
        }
        boolean lost = FunctionAnswer.number(dump.get(7)) == 1;
        if (!lost && ordinary.size() <= 50) {
            assertThat(kept.subList(Math.max(0, kept.size() - ordinary.size()), kept.size()))
                    .as("history of %s", at)
                    .isEqualTo(ordinary);
        }
        if (forcedNow[0] > 0) {
            forced += forcedNow[0];
            assertThat(get(redis.xlen(domain.history)))
                    .as("forced releases after %s", at)
                    .isGreaterThanOrEqualTo(Math.min(forced, 100));
        }
    }

    // ---- a whole state, there and back

    private List<byte[]> put(LockState state, long nowMillis) {
        List<byte[]> words = new ArrayList<>();
        words.add(number(nowMillis));
        words.add(number(startedMillis));
        words.add(number(state.lockDelayUntilMillis()));
        words.add(number(state.minimumHoldUntilMillis()));
        words.add(number(state.forgottenUntilMillis()));
        words.add(number(state.holders().size()));
        for (Grant grant : state.holders()) {
            put(words, grant.request());
            words.add(number(grant.token().value()));
            words.add(number(grant.grantedAtMillis()));
            words.add(number(grant.expiresAtMillis()));
            words.add(number(grant.request().lockAtLeastForMillis()));
        }
        words.add(number(state.offers().size()));
        for (Offer offer : state.offers()) {
            words.add(number(offer.token().value()));
            words.add(number(offer.lapsesAtMillis()));
            put(words, offer.waiter());
        }
        words.add(number(state.waiters().size()));
        state.waiters().forEach(waiter -> put(words, waiter));
        words.add(number(state.tombstones().size()));
        for (Tombstone end : state.tombstones()) {
            words.add(CommandWords.bytes(end.request()));
            words.add(end.grant().toBytes());
            words.add(number(end.token()));
            words.add(CommandWords.text(end.end().name()));
            words.add(number(end.endedAtMillis()));
            words.add(CommandWords.text(end.detail()));
        }
        return words;
    }

    private static void put(List<byte[]> words, Waiter waiter) {
        put(words, waiter.request());
        words.add(number(waiter.queuedAtMillis()));
        words.add(number(waiter.waitUntilMillis()));
        words.add(number(waiter.aliveUntilMillis()));
        words.add(number(waiter.lapse() == Waiter.Lapse.NONE ? 0 : waiter.lapse() == Waiter.Lapse.STEPS_BACK ? 1 : 2));
        words.add(number(waiter.request().lockAtLeastForMillis()));
    }

    private static void put(List<byte[]> words, Request request) {
        words.add(CommandWords.bytes(request.id()));
        words.add(number(request.sessionGen()));
        words.add(request.grant().toBytes());
        words.add(number(request.mode() == Mode.SHARED ? 1 : 0));
        words.add(number(request.ttlMillis()));
        words.add(number(request.lockDelayMillis()));
        words.add(CommandWords.text(request.owner()));
        words.add(CommandWords.text(request.purpose()));
    }

    private static LockState state(LockName lock, List<Object> dump) {
        FunctionAnswer described = new FunctionAnswer(
                lock,
                List.of(
                        List.of(
                                CommandWords.text("Described"),
                                dump.get(0),
                                dump.get(1),
                                dump.get(2),
                                dump.get(4),
                                dump.get(5),
                                dump.get(10)),
                        1L,
                        List.of()),
                1L);
        LockState state = ((Answer.Described) described.answer()).state();
        List<Tombstone> ends = new ArrayList<>();
        for (Object each : FunctionAnswer.list(dump.get(3))) {
            List<Object> end = FunctionAnswer.list(each);
            ByteBuffer request = ByteBuffer.wrap(FunctionAnswer.bytes(end.get(0)));
            ends.add(new Tombstone(
                    new RequestId(new SessionId(request.getLong(), request.getLong()), request.getLong()),
                    FunctionAnswer.grantId(end.get(1)),
                    FunctionAnswer.number(end.get(2)),
                    End.valueOf(FunctionAnswer.string(end.get(3))),
                    FunctionAnswer.number(end.get(4)),
                    FunctionAnswer.string(end.get(5))));
        }
        return new LockState(
                lock,
                state.holders(),
                state.offers(),
                state.waiters(),
                Tombstones.of(ends),
                state.lockDelayUntilMillis(),
                state.minimumHoldUntilMillis(),
                state.forgottenUntilMillis());
    }

    // ---- Redis

    private String function(Command command) {
        return CommandWords.function(command).substring("palisade_".length());
    }

    RedisFuture<List<Object>> call(String function, List<byte[]> keys, List<byte[]> words) {
        return redis.fcall(
                library + "_" + function,
                ScriptOutputType.MULTI,
                keys.toArray(new byte[0][]),
                words.toArray(new byte[0][]));
    }

    private RedisFuture<Object> send(String function, List<byte[]> keys, List<byte[]> words) {
        return redis.fcall(
                library + "_" + function,
                ScriptOutputType.STATUS,
                keys.toArray(new byte[0][]),
                words.toArray(new byte[0][]));
    }

    /** Until when a domain recovers that has an epoch, or begins one at {@code nowMillis}. */
    long recoversUntil(List<byte[]> keys, long nowMillis, long graceMillis) {
        get(send("test_now", List.of(), List.of(number(nowMillis), number(0))));
        List<Object> told = get(call(
                "epoch",
                keys,
                List.of(number(0), number(1), number(graceMillis), number(Long.MAX_VALUE), number(1), number(0))));
        return FunctionAnswer.number(FunctionAnswer.list(told.get(2)).get(3));
    }

    void load(String code) {
        get(redis.functionLoad(code, true));
    }

    void unload() {
        get(redis.dispatch(
                CommandType.FUNCTION,
                new StatusOutput<>(ByteArrayCodec.INSTANCE),
                new CommandArgs<>(ByteArrayCodec.INSTANCE).add("DELETE").add(library)));
    }

    static byte[] number(long number) {
        return CommandWords.text(Long.toString(Math.min(number, CommandWords.NEVER)));
    }

    static <T> T get(RedisFuture<T> future) {
        try {
            return future.get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError("Redis: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        connection.close();
    }
}
