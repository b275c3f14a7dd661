package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.BatchStorage;
import dev.palisade.server.store.log.BatchedLog;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LastStatus;
import dev.palisade.server.store.log.LogFailure;
import dev.palisade.server.store.log.OwnerKey;
import dev.palisade.server.store.log.SigningKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Storage of the batches of a shared log in Redis. A batch is one call of one function, which stores it only for the log's owner. After a call
 * without a reply, the next claim locates the primary again.
 */
public final class RedisLog implements BatchStorage {
    private static final long CONFIRM_MILLIS = 500;

    private final RedisLogConfig config;
    private final RedisLink link;
    private final EventLog events;
    private final RedisLogKeys keys;
    private final LastStatus status = new LastStatus();
    /** Reply to the last claim. */
    private @Nullable Reply claimed;
    /** Connected when it was granted. */
    private long replicas;
    /** Of the call after which the primary has to be located again. */
    private volatile @Nullable Suspicion suspicion;

    /** @param why the primary may be another one by now */
    private record Suspicion(Reply reply, String why) {}

    private RedisLog(RedisLogConfig config, RedisLink link, EventLog events) {
        this.config = config;
        this.link = link;
        this.events = events;
        this.keys = new RedisLogKeys(config.prefix());
    }

    /**
     * Connects. Blocks meanwhile; not for {@code loop}.
     *
     * @param keys with which this server signs
     * @param loop the link's thread; it outlives the log
     * @param random of good quality: owners are compared by what it draws
     * @throws StoreUnusable if Redis cannot be reached, may not be used, or has keys that are not this log's; or by {@code keys}
     */
    public static FencedLog open(
            RedisLogConfig config, SigningKeys keys, Loop loop, RandomGenerator random, EventLog events)
            throws StoreUnusable, InterruptedException {
        return open(config, keys, Library.load(), loop, random, events);
    }

    static FencedLog open(
            RedisLogConfig config,
            SigningKeys keys,
            FunctionLibrary library,
            Loop loop,
            RandomGenerator random,
            EventLog events)
            throws StoreUnusable, InterruptedException {
        int slot = new RedisLogKeys(config.prefix()).slot();
        RedisLink link = RedisLink.open(config.link(), slot, library, loop, events);
        RedisLog log = new RedisLog(config, link, events);
        boolean opened = false;
        try {
            boolean isKnown = log.refuseUnusable(keys, library, loop);
            boolean init = BatchedLog.appliesInit(config.start() == RedisLogConfig.Start.NEW, isKnown, events);
            opened = true;
            return new BatchedLog(
                    log,
                    new BatchedLog.Candidate(config.address(), init, config.recoveryMillis(), config.settings(), keys),
                    random,
                    events);
        } finally {
            if (!opened) {
                log.close();
            }
        }
    }

    /** Returns whether there is a log already. */
    private boolean refuseUnusable(SigningKeys signs, FunctionLibrary library, Loop loop)
            throws StoreUnusable, InterruptedException {
        boolean moves = config.start() == RedisLogConfig.Start.FROM_FUNCTIONS;
        List<Object> answer = check();
        Optional<OwnerKey> owner = LogCodec.owner(answer);
        if (owner.isPresent()) {
            signs.check(owner.get());
        }
        String found = LogCodec.found(answer);
        boolean isMoved = found.equals("mark");
        if (moves && (isMoved || found.equals("locks"))) {
            MoveFromFunctions.run(link, config, keys, isMoved, library, loop, events);
            answer = check();
        }
        if (!LogCodec.text(answer, 0).equals("ok")) {
            throw unusable(LogCodec.text(answer, 1));
        }
        if (moves && LogCodec.found(answer).equals("nothing")) {
            throw unusable("has no locks of an earlier release under the keys " + config.prefix()
                    + ":*; name their prefix with --store-prefix, or leave out --from-functions");
        }
        return found.equals("log");
    }

    private List<Object> check() throws StoreUnusable {
        try {
            return await(link.call(LogCodec.CHECK, keys.shared(), List.of(Call.bytes(config.prefix()))));
        } catch (LogFailure e) {
            throw new StoreUnusable(e.line(), e);
        }
    }

    @Override
    public String kind() {
        return "redis";
    }

    @Override
    public String name() {
        return "Redis " + config.link().uri();
    }

    @Override
    public String path() {
        return "keys " + config.prefix() + ":*";
    }

    @Override
    public String pathOf(long generation, long number) {
        return "field " + number + " in " + keys.batches(generation);
    }

    /** The last reply; each call asks Redis again. */
    @Override
    public Optional<StoreStatus.SharedLog> status() {
        return status.look(() -> link.call(LogCodec.STATUS, keys.shared(), List.of())
                .thenApply(answer -> LogCodec.status(answer, config.claimMillis())));
    }

    private StoreUnusable unusable(String what) {
        return new StoreUnusable(name() + " " + what);
    }

    // ---- claims

    @Override
    public Claim claim(ClaimRequest request, String keyId, String settings) throws StoreUnusable, LogFailure {
        locate();
        Reply reply = link.call(
                LogCodec.CLAIM,
                keys.shared(),
                LogCodec.claim(request, keyId, settings, config.claimMillis(), config.settleMillis()));
        List<Object> answer = await(reply);
        ClaimReply read = LogCodec.reply(request, answer);
        if (read == null) {
            throw unusable(LogCodec.text(answer, 1));
        }
        claimed = reply;
        if (!(read instanceof ClaimReply.Claimed)) {
            return Claim.refused(read, LogCodec.ownerKeyId(answer), LogCodec.ownerSettings(answer));
        }
        replicas = LogCodec.replicas(answer);
        return new Claim(
                read,
                LogCodec.batches(answer),
                LogCodec.generation(answer),
                LogCodec.rewriting(answer),
                "",
                "",
                LogCodec.takeover(answer));
    }

    /**
     * A takeover begins an epoch of tokens: at a deposed primary these would be above the tokens of its successor. One that a replica knows
     * is not undone by that replica's promotion.
     */
    @Override
    public Optional<String> doubt(ClaimReply.Claimed claimed, boolean isFirst) throws LogFailure {
        if (claimed.mine()) {
            return Optional.empty();
        }
        Reply claim = claim();
        if (!isFirst && !isStillPrimary(claim)) {
            return Optional.of("may not be the primary any more: too few of those that know confirm it;"
                    + " see that a majority of them can be reached");
        }
        if (replicas > 0) {
            confirm(claim);
        }
        return Optional.empty();
    }

    private boolean isStillPrimary(Reply claim) throws LogFailure {
        try {
            return link.isStillPrimary(claim).get();
        } catch (ExecutionException e) {
            throw LogFailure.unknown(line(e));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** Searches the primary again, and connects to it, if an earlier call had no reply. */
    private void locate() throws LogFailure {
        Suspicion before = suspicion;
        if (before == null) {
            return;
        }
        try {
            link.findPrimary(before.reply(), before.why())
                    .get(config.link().timeout().toMillis(), TimeUnit.MILLISECONDS);
            suspicion = null;
        } catch (ExecutionException e) {
            throw LogFailure.unknown(line(e));
        } catch (TimeoutException e) {
            throw LogFailure.unknown(name() + " named no primary within "
                    + RedisUnusable.text(config.link().timeout().toNanos()));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    private void confirm(Reply claim) throws LogFailure {
        long millis = Math.min(CONFIRM_MILLIS, config.link().timeout().toMillis() / 2);
        try {
            List<Object> replicas =
                    link.ask(claim, "WAIT", "1", Long.toString(millis)).get();
            if (LogCodec.number(replicas, 0) == 0) {
                events.tell(
                        "store_warning",
                        "message",
                        "no replica of " + name() + " confirmed within " + millis
                                + " ms that this lock server is the active one; a failover now can bring back the former one");
            }
        } catch (ExecutionException e) {
            throw suspect(claim, line(e));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    // ---- batches

    private Reply claim() {
        Reply last = claimed;
        if (last == null) {
            throw new IllegalStateException("nothing was claimed");
        }
        return last;
    }

    @Override
    public Optional<Contents> look() throws StoreUnusable, LogFailure {
        List<String> words = new ArrayList<>(List.of("HMGET", keys.head()));
        words.addAll(LogCodec.CONTENTS);
        return LogCodec.contents(ask(keys.head(), words));
    }

    /** Over the connection that claimed: what another primary has is another log. */
    @Override
    public List<byte @Nullable []> read(long generation, long first, long end) throws StoreUnusable, LogFailure {
        String key = keys.batches(generation);
        List<String> words = new ArrayList<>(List.of("HMGET", key));
        LongStream.range(first, end).mapToObj(Long::toString).forEach(words::add);
        List<byte @Nullable []> batches = new ArrayList<>();
        ask(key, words).forEach(batch -> batches.add((byte[]) batch));
        return batches;
    }

    private List<Object> ask(String key, List<String> words) throws StoreUnusable, LogFailure {
        Reply claim = claim();
        try {
            return link.ask(claim, words.toArray(String[]::new)).get();
        } catch (ExecutionException e) {
            String error = RedisUnusable.of(e).error();
            if (error != null && error.startsWith("WRONGTYPE")) {
                throw unusable(
                        "has a key " + key
                                + " that is no hash; restore it, or delete it, which is a loss of data, or use another --store-prefix");
            }
            throw suspect(claim, line(e));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    @Override
    public void append(Append append, byte[] bytes, FencedLog.Sent sent) {
        List<byte[]> words = LogCodec.append(
                append.request(), config.claimMillis(), append.before(), append.after(), bytes, append.keyId());
        Reply reply = link.call(
                append.frees() ? LogCodec.APPEND_FREEING : LogCodec.APPEND, keys.append(append.generation()), words);
        // What clients asked meanwhile may wait in their sockets still: read first, it is part of the next batch.
        var unused = reply.whenComplete((answer, failure) ->
                link.later(() -> sent.replied(failure == null ? outcome(reply, answer) : failure(reply, failure))));
    }

    /** What Redis answered to an append: null if the batch is stored. */
    private @Nullable LogFailure outcome(Reply reply, List<Object> answer) {
        if (LogCodec.isStored(answer)) {
            return null;
        }
        return suspect(reply, name() + " did not store a batch: " + LogCodec.text(answer, 1));
    }

    /** The link lets no call wait for ever. */
    private List<Object> await(Reply reply) throws LogFailure {
        try {
            return reply.get();
        } catch (ExecutionException e) {
            throw failure(reply, e);
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** Of a call that Redis refused, or whose outcome is not known: then the primary is located again before the next claim. */
    private LogFailure failure(Reply reply, Throwable failure) {
        if (reply.isRefused()) {
            return LogFailure.refused(line(failure));
        }
        return suspect(reply, line(failure));
    }

    private LogFailure suspect(Reply reply, String why) {
        suspicion = new Suspicion(reply, why);
        return LogFailure.unknown(why);
    }

    private static LogFailure interrupted() {
        Thread.currentThread().interrupt();
        return LogFailure.unknown("interrupted while Redis was asked");
    }

    static String line(Throwable failure) {
        Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
        return String.valueOf(cause == null ? failure.getMessage() : cause.getMessage());
    }

    @Override
    public void close() {
        link.close();
    }
}
