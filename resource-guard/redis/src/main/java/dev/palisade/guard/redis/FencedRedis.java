package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.FenceConnection.bytes;
import static dev.palisade.guard.redis.FenceConnection.text;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.GuardStats;
import dev.palisade.guard.Mark;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The fence inside Redis or Valkey, 7.0 or newer: one script compares the caller's token with the resource's mark, raises it and
 * runs the caller's commands, so mark and data change in one step or not at all. Its place is a service's data layer, on a Lettuce
 * connection of the service.
 *
 * <p>The mark of resource {@code orders/42} is the hash {@code palisade:fence:{orders/42}}. All keys of a call must have the
 * resource as their hash tag, as in {@code {orders/42}:items}; so mark and data are in one slot, and one key is never guarded by
 * two marks. <b>Redis does not roll back:</b> when the second of three commands fails, the first stays applied and the third
 * does not run. What can be checked is checked before the first write; what remains is OUTCOME_UNKNOWN with {@link
 * #COMMANDS_APPLIED}.
 *
 * <p>It never trusts an unverified sequencer, never writes a call to Redis twice, whatever the connection does when it
 * reconnects, and never says "not applied" of a call whose reply was lost. A mark is as durable as the data: a failover or a
 * restored backup that loses writes loses marks too. It blocks the calling thread, so do not call it from Lettuce's callbacks.
 * Immutable; safe to share. Closes nothing: the connection is the caller's.
 */
public final class FencedRedis {
    /** How long a call waits for its reply unless told otherwise. */
    public static final Duration TIMEOUT_DEFAULT = Duration.ofSeconds(5);

    /**
     * Metadata of an OUTCOME_UNKNOWN whose outcome Redis did report: how many commands of the list were applied, from 1 to one
     * less than all. They are the first ones of the list; none after them was applied.
     */
    public static final String COMMANDS_APPLIED = "commands_applied";

    private static final System.Logger EVENTS = System.getLogger("dev.palisade.guard.events");

    private final FenceConnection connection;
    private final SequencerVerifier verifier;
    private final FenceScript commands;
    private final RedisFenceCounters counters;

    FencedRedis(
            FenceConnection connection, SequencerVerifier verifier, FenceScript commands, RedisFenceCounters counters) {
        this.connection = connection;
        this.verifier = verifier;
        this.commands = commands;
        this.counters = counters;
    }

    /**
     * A fence on a connection to a single Redis, or to the primary that a Sentinel names. Sends nothing yet. The connection may be
     * shared with other work, but not with MULTI, with blocking commands or with {@code setAutoFlushCommands(false)}.
     * Refusals go to the {@link System.Logger} {@code dev.palisade.guard.events} at level INFO, on the thread of the call, a
     * bounded number of lines a second.
     */
    public static FencedRedis create(StatefulRedisConnection<?, ?> connection, SequencerVerifier verifier) {
        return create(new FenceConnection(connection, TIMEOUT_DEFAULT), verifier, FencedRedis::log);
    }

    /** As {@link #create(StatefulRedisConnection, SequencerVerifier)}, on a connection to a Redis Cluster. */
    public static FencedRedis create(StatefulRedisClusterConnection<?, ?> connection, SequencerVerifier verifier) {
        return create(new FenceConnection(connection, TIMEOUT_DEFAULT), verifier, FencedRedis::log);
    }

    /** @param eventLines where operators are told */
    static FencedRedis create(FenceConnection connection, SequencerVerifier verifier, Consumer<String> eventLines) {
        EventLog events = new EventLog(eventLines, System::nanoTime, EventLog.LINES_PER_SECOND);
        return new FencedRedis(connection, verifier, FenceScript.ofCommands(), new RedisFenceCounters(events));
    }

    private static void log(String line) {
        EVENTS.log(System.Logger.Level.INFO, line);
    }

    /**
     * The same fence with another bound on waiting for a reply; cheap, for one call if need be.
     *
     * @param timeout of one call, 1 ms to 1 h
     * @throws IllegalArgumentException out of that range
     */
    public FencedRedis withTimeout(Duration timeout) {
        if (timeout.toMillis() < 1 || timeout.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("timeout " + timeout + " is not within 1 ms to 1 h");
        }
        return new FencedRedis(connection.withTimeout(timeout), verifier, commands, counters);
    }

    /** The same fence without log events, for a service that logs every refusal itself. Counts on its own, from 0. */
    public FencedRedis withoutEvents() {
        return new FencedRedis(connection, verifier, commands, counters.withoutEvents());
    }

    /**
     * The same fence, which also passes on its refusals, on the thread of the call: to a {@code RefusalReports}, for {@code palisade
     * explain}. Shares the counts of this one.
     *
     * @param reports must not block, and must not throw
     */
    public FencedRedis withReports(Consumer<Rejection> reports) {
        return new FencedRedis(connection, verifier, commands, counters.reporting(reports));
    }

    /**
     * Counts, for metrics, of this fence and of the copies made of it: admitted and refused calls, and calls that wait for their
     * reply now.
     */
    public GuardStats stats() {
        return counters.stats();
    }

    /**
     * Runs {@code work} as a guarded write, in the order of the list and with no other call of Redis between. Only for EXCLUSIVE
     * grants.
     *
     * @return a reply for each command, in order, as Redis gives them to scripts (RESP2)
     * @throws RejectedException SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED, TOKEN_STALE, MARK_UNAVAILABLE (the mark
     *     cannot be used, or Redis may evict it), STORE_UNAVAILABLE: all not applied; or OUTCOME_UNKNOWN: no reply came, or a
     *     command after the first failed, then with {@link #COMMANDS_APPLIED}
     * @throws RedisCommandExecutionException Redis refuses a command before anything was applied: it is not permitted, a key has
     *     another type, or the first one failed. In the last case alone the mark stays raised
     * @throws IllegalArgumentException when a key has not the resource as its hash tag or is the mark's own, or the resource is no
     *     hash tag because of a brace; nothing was sent
     * @throws IllegalStateException when the connection is in MULTI; nothing was sent
     */
    public List<RedisReply> write(SignedSequencer signed, Binding binding, CommandList work) {
        return run(signed, binding, Access.WRITE, work);
    }

    /**
     * Runs a Lua script of the caller's as a guarded write: for a decision between reading and writing, or for commands that a
     * list does not take. It has {@code KEYS} and {@code ARGV} as with EVAL and must use no other keys. Redis does not roll
     * back: decide first, write last.
     *
     * @param script its text, the same at each call: Redis keeps each text until it restarts. Values belong into {@code arguments}
     * @param keys with the resource as their hash tag
     * @param arguments {@link String}, {@code byte[]} or integers; with the keys at most {@link CommandList#WORDS_MAX} and {@link
     *     CommandList#BYTES_MAX}
     * @return what the script returned
     * @throws RejectedException as for a list; OUTCOME_UNKNOWN also when the script raised or returned an error: what it had
     *     written by then stays
     * @throws RedisCommandExecutionException the script does not compile; nothing was applied
     * @throws IllegalArgumentException as for a list
     * @throws IllegalStateException as for a list
     */
    public RedisReply write(
            SignedSequencer signed, Binding binding, String script, List<String> keys, Object... arguments) {
        Sequencer sequencer = verified(signed, binding, Access.WRITE);
        List<byte[]> keyWords = CommandList.words(keys.toArray());
        List<byte[]> words = CommandList.words(arguments);
        CommandList.requireSize(Stream.concat(keyWords.stream(), words.stream()).toList());
        HashTag.of(binding.resource()).require(keyWords);
        return run(sequencer, binding, Access.WRITE, FenceScript.ofCaller(script), keyWords, words, 1)
                .replies()
                .get(0);
    }

    /**
     * Runs {@code work}, of commands that only read, as a guarded read, with the errors of {@link #write(SignedSequencer,
     * Binding, CommandList)}. Raises the mark too, so what was read stays true until a newer grant is admitted.
     *
     * @throws IllegalArgumentException also when a command can write
     */
    public List<RedisReply> read(SignedSequencer signed, Binding binding, CommandList work) {
        work.requireReadsOnly();
        return run(signed, binding, Access.READ, work);
    }

    /**
     * Raises the mark alone: after it returns no call with an older token is applied. Errors as for {@link
     * #write(SignedSequencer, Binding, CommandList)}.
     *
     * @return the mark it left
     */
    public Mark claim(SignedSequencer signed, Binding binding) {
        Sequencer sequencer = verified(signed, binding, Access.READ);
        return run(sequencer, binding, Access.READ, commands, List.of(), List.of(bytes("0")), 0)
                .mark();
    }

    /**
     * The mark of {@code resource}, for people; nothing to decide by, it may be raised the next moment.
     *
     * @throws RejectedException STORE_UNAVAILABLE or MARK_UNAVAILABLE
     */
    public Mark mark(String resource) {
        return connection.mark(resource, HashTag.of(resource).markKey());
    }

    private List<RedisReply> run(SignedSequencer signed, Binding binding, Access access, CommandList work) {
        Sequencer sequencer = verified(signed, binding, access);
        HashTag.of(binding.resource()).require(work.keys());
        return run(sequencer, binding, access, commands, work.keys(), work.arguments(), work.size())
                .replies();
    }

    private Sequencer verified(SignedSequencer signed, Binding binding, Access access) {
        try {
            Sequencer sequencer = verifier.verify(signed);
            binding.require(sequencer, access);
            return sequencer;
        } catch (RejectedException e) {
            throw counters.refused(e);
        }
    }

    private FenceReply.Done run(
            Sequencer sequencer,
            Binding binding,
            Access access,
            FenceScript script,
            List<byte[]> keys,
            List<byte[]> work,
            int commandsInAll) {
        List<byte[]> allKeys =
                new ArrayList<>(List.of(HashTag.of(binding.resource()).markKey()));
        allKeys.addAll(keys);
        List<byte[]> arguments = new ArrayList<>(List.of(
                bytes(sequencer.mode().name()),
                bytes(sequencer.token().toString()),
                bytes(sequencer.grant().toString())));
        arguments.addAll(work);
        counters.callBegins();
        try {
            List<Object> reply = connection.eval(binding.resource(), script, allKeys, arguments);
            boolean admitted =
                    text(reply.get(0)).equals("done") || text(reply.get(0)).equals("failed");
            if (admitted) {
                counters.admitted();
            }
            return FenceReply.of(reply, binding, sequencer, access, script, commandsInAll);
        } catch (RejectedException e) {
            throw counters.refused(e);
        } finally {
            counters.callEnds();
        }
    }
}
