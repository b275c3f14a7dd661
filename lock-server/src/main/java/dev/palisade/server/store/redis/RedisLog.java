package dev.palisade.server.store.redis;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.palisade.contract.EventLog;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LogFailure;
import dev.palisade.server.store.log.format.Change;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The log of records that several lock servers share in Redis. A batch is one call of one function, which stores it only for the log's
 * owner. After a call without a reply, the next claim locates the primary again. All but {@link #send} block; not for the thread of the
 * link.
 */
public final class RedisLog implements FencedLog {
    /** Batches that are read at one time. */
    private static final int READS = 64;
    /** Records handed over between two looks at the claim. */
    private static final int RECORDS_PER_PROGRESS = 10_000;

    private static final long CONFIRM_MILLIS = 500;

    private final RedisLogConfig config;
    private final RedisLink link;
    private final RandomGenerator random;
    private final EventLog events;
    private final String server;
    private final RedisLogKeys keys;
    private WriterId writer = WriterId.NONE;
    private long seq;
    private long storedTokens;
    private LogWords.Batches stored = LogWords.Batches.NONE;
    /** Whether the next load has to find as many. */
    private boolean comparesBatches;

    private LogSpace space = new LogSpace();
    private long generation = 1;
    private long rewriting;
    private long nextId = 1;
    private long oldestId;
    private boolean owned;
    private boolean damaged;
    private boolean begun;
    /** Whether this server has seen a log here. */
    private boolean known;

    private boolean frees;
    private RecordBatch batch = new RecordBatch();
    /** When the batch was begun. */
    private long batchFirstId = 1;
    /** Batches that were sent and are not known to be stored, the oldest first. */
    private final Deque<SentBatch> sent = new ArrayDeque<>();

    private String lastTold = "";
    /** As it was when it was asked last; empty if there was no reply. */
    private volatile Optional<StoreStatus.SharedLog> status = Optional.empty();

    private final AtomicBoolean asksStatus = new AtomicBoolean();
    /** Of the last claim that was granted. */
    private @Nullable Reply granted;
    /** Of a call after which the primary has to be located again. */
    private volatile @Nullable Reply suspected;

    private static final class SentBatch {
        final AppendRequest request;
        final RecordBatch records;
        final long firstId;
        final byte[] bytes;
        final LogWords.Batches before;
        final LogWords.Batches after;
        /** Set by the thread of the link. */
        volatile boolean stored;

        SentBatch(
                AppendRequest request,
                RecordBatch records,
                long firstId,
                byte[] bytes,
                LogWords.Batches before,
                LogWords.Batches after) {
            this.request = request;
            this.records = records;
            this.firstId = firstId;
            this.bytes = bytes;
            this.before = before;
            this.after = after;
        }
    }

    private RedisLog(RedisLogConfig config, RedisLink link, RandomGenerator random, EventLog events) {
        this.config = config;
        this.link = link;
        this.random = random;
        this.events = events;
        this.server = freshId().toString();
        this.keys = new RedisLogKeys(config.prefix());
    }

    /**
     * Connects. Blocks meanwhile; not for {@code loop}.
     *
     * @param loop the link's thread; it outlives the log
     * @param random of good quality: owners are compared by what it draws
     * @throws StoreUnusable if Redis cannot be reached, may not be used, or has keys that are not this log's
     */
    public static RedisLog open(RedisLogConfig config, Loop loop, RandomGenerator random, EventLog events)
            throws StoreUnusable, InterruptedException {
        return open(config, Library.load(), loop, random, events);
    }

    static RedisLog open(
            RedisLogConfig config, FunctionLibrary library, Loop loop, RandomGenerator random, EventLog events)
            throws StoreUnusable, InterruptedException {
        RedisLink link = RedisLink.open(config.link(), library, loop, events);
        RedisLog log = new RedisLog(config, link, random, events);
        boolean opened = false;
        try {
            log.refuseUnusable();
            opened = true;
            return log;
        } finally {
            if (!opened) {
                log.close();
            }
        }
    }

    private void refuseUnusable() throws StoreUnusable, InterruptedException {
        boolean moves = config.start() == RedisLogConfig.Start.FROM_FUNCTIONS;
        List<Object> answer = check();
        boolean isMoved = LogWords.hasMarkOfFunctions(answer);
        known = LogWords.hasLog(answer);
        if (moves && (isMoved || LogWords.hasLocksOfFunctions(answer))) {
            MoveFromFunctions.run(link, config, keys, isMoved, events);
            answer = check();
        }
        if (!LogWords.text(answer, 0).equals("ok")) {
            throw unusable(LogWords.text(answer, 1));
        }
        if (moves && LogWords.hasNothingOfFunctions(answer)) {
            throw unusable("has no locks of an earlier release under the keys " + config.prefix()
                    + ":*; name their prefix with --store-prefix, or leave out --from-functions");
        }
    }

    private List<Object> check() throws StoreUnusable {
        try {
            return await(link.call(LogWords.CHECK, keys.shared(), List.of(Call.bytes(config.prefix()))));
        } catch (LogFailure e) {
            throw new StoreUnusable(e.line(), e);
        }
    }

    private StoreUri uri() {
        return config.link().uri();
    }

    /** What was seen once and is gone was lost: a standby that was started with {@code --init} takes no loss for a new log. */
    private boolean isNew() {
        return config.start() == RedisLogConfig.Start.NEW && !known;
    }

    private WriterId freshId() {
        return new WriterId(random.nextLong(), random.nextLong());
    }

    @Override
    public String kind() {
        return "redis";
    }

    @Override
    public String where() {
        return uri() + ", keys " + config.prefix() + ":*";
    }

    @Override
    public boolean isShared() {
        return true;
    }

    /** The last reply; each call asks Redis again. */
    @Override
    public Optional<StoreStatus.SharedLog> status() {
        if (asksStatus.compareAndSet(false, true)) {
            var unused = link.call(LogWords.STATUS, keys.shared(), List.of()).whenComplete((answer, failure) -> {
                status = failure == null ? LogWords.status(answer, config.claimMillis()) : Optional.empty();
                asksStatus.set(false);
            });
        }
        return status;
    }

    @Override
    public void damaged() throws LogFailure {
        damaged = true;
        stored = stored.withCount(LogWords.Batches.UNKNOWN);
        forget();
        endClaim();
        String line = "Redis " + uri() + " has lost records of the log under " + keys.head()
                + "; leases of unknown locks are restored by their clients within the recovery window";
        events.tell("store_warning", "message", line);
        throw LogFailure.unknown(line);
    }

    private StoreUnusable unusable(String what) {
        return new StoreUnusable("Redis " + uri() + " " + what);
    }

    @Override
    public boolean isBegun() {
        return begun;
    }

    // ---- claims

    @Override
    public ClaimReply claim(Past past) throws LogFailure {
        locate();
        ClaimRequest request = new ClaimRequest(
                freshId(), past, server, config.address(), !owned, isNew(), damaged, config.recoveryMillis());
        Reply reply = link.call(
                LogWords.CLAIM, keys.shared(), LogWords.claim(request, config.claimMillis(), config.settleMillis()));
        List<Object> answer = await(reply);
        ClaimReply read = LogWords.reply(request, answer);
        if (read == null) {
            String line = "Redis " + uri() + " " + LogWords.text(answer, 1);
            if (isNews(line)) {
                events.warn("log_unusable", "message", line);
            }
            throw LogFailure.unknown(line);
        }
        damaged = damaged && read instanceof ClaimReply.Settling;
        boolean first =
                read instanceof ClaimReply.Claimed claimed && claimed.position().equals(Position.NONE) && isNew();
        known = true;
        if (read instanceof ClaimReply.Held held) {
            tellOnce("standby", "active", held.address());
        } else if (read instanceof ClaimReply.Settling) {
            tellOnce("log_settles");
        } else if (read instanceof ClaimReply.Claimed claimed) {
            if (!claimed.mine()) {
                forget(); // Batches of a memory that counts no more.
                stored = LogWords.batches(answer);
                comparesBatches = claimed.whole();
                if (!claimed.whole()) {
                    stored = stored.withCount(LogWords.Batches.UNKNOWN);
                }
                space = new LogSpace(); // Nothing is dropped before the log was read.
                oldestId = 0;
            }
            generation = LogWords.generation(answer);
            rewriting = LogWords.rewriting(answer);
            if (!claimed.mine() && !first) {
                refuseUnconfirmed(reply, claimed);
            }
            if (!claimed.mine() && LogWords.replicas(answer) > 0) {
                confirm(reply);
            }
            granted = reply;
            owns(claimed);
            tell(claimed);
        }
        return read;
    }

    /** A takeover begins an epoch of tokens: at a deposed primary these would be above the tokens of its successor. */
    private void refuseUnconfirmed(Reply claim, ClaimReply.Claimed claimed) throws LogFailure {
        try {
            if (link.isStillPrimary(claim).get()) {
                return;
            }
        } catch (ExecutionException e) {
            throw LogFailure.unknown(line(e));
        } catch (InterruptedException e) {
            throw interrupted();
        }
        writer = claimed.writer();
        seq = 0;
        storedTokens = claimed.tokens();
        endClaim(); // Another lock server may be able to ask the others.
        throw LogFailure.unknown(
                "Redis " + uri()
                        + " may not be the primary any more: too few of those that know confirm it; see that a majority of them can be reached");
    }

    private void tell(ClaimReply.Claimed claimed) {
        lastTold = "";
        events.tell(
                "log_claimed",
                "term",
                claimed.term(),
                "memory",
                claimed.mine() ? "kept" : "loaded",
                "lost",
                claimed.whole() ? "nothing" : "unknown",
                "recovering_ms",
                Math.max(0, claimed.recoveringUntilMillis() - claimed.nowMillis()));
    }

    /** Claims are repeated several times a second: what is as before is no news. */
    private void tellOnce(String event, Object... pairs) {
        if (isNews(event + Arrays.toString(pairs))) {
            events.tell(event, pairs);
        }
    }

    private boolean isNews(String line) {
        boolean news = !line.equals(lastTold);
        lastTold = line;
        return news;
    }

    /** Asks anew who is the primary, and connects to it, if a call before had no reply. */
    private void locate() throws LogFailure {
        Reply suspect = suspected;
        if (suspect == null) {
            return;
        }
        try {
            link.findPrimary(suspect).get(config.link().timeout().toMillis(), TimeUnit.MILLISECONDS);
            suspected = null;
        } catch (ExecutionException e) {
            throw LogFailure.unknown(line(e));
        } catch (TimeoutException e) {
            throw LogFailure.unknown("Redis " + uri() + " does not say within "
                    + Refusal.text(config.link().timeout().toNanos()) + " who is the primary");
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    private void owns(ClaimReply.Claimed claimed) {
        Position found = claimed.position();
        for (SentBatch each : sent) {
            each.stored = each.request.writer().equals(found.writer()) && each.request.seq() <= found.seq();
        }
        takeBack();
        writer = claimed.writer();
        seq = 0;
        storedTokens = claimed.tokens();
        owned = true;
        begun = !found.equals(Position.NONE);
    }

    /** What is not stored is part of the next batch. */
    private void takeBack() {
        dropStored();
        if (!sent.isEmpty()) {
            RecordBatch all = new RecordBatch();
            batchFirstId = sent.element().firstId;
            sent.forEach(each -> all.add(each.records));
            all.add(batch);
            batch = all;
            sent.clear();
        }
    }

    private void dropStored() {
        for (SentBatch oldest = sent.peek(); oldest != null && oldest.stored; oldest = sent.peek()) {
            seq = oldest.request.seq();
            storedTokens = oldest.request.tokensAfter();
            stored = oldest.after;
            if (oldest.bytes.length > 0) {
                space.stored(oldest.before.next(), oldest.firstId, oldest.bytes.length);
            }
            space.dropped(stored.first());
            sent.remove();
        }
    }

    private void forget() {
        begin();
        sent.clear();
    }

    private void begin() {
        batch = new RecordBatch();
        batchFirstId = nextId;
    }

    /** A takeover is known to a replica, so that its promotion does not bring the former owner back. */
    private void confirm(Reply claim) throws LogFailure {
        long millis = Math.min(CONFIRM_MILLIS, config.link().timeout().toMillis() / 2);
        try {
            List<Object> replicas =
                    link.ask(claim, "WAIT", "1", Long.toString(millis)).get();
            if (LogWords.number(replicas, 0) == 0) {
                events.tell(
                        "store_warning",
                        "message",
                        "no replica of Redis " + uri() + " confirmed within " + millis
                                + " ms that this lock server is the active one; a failover now can bring back the former one");
            }
        } catch (ExecutionException e) {
            suspected = claim;
            throw LogFailure.unknown(line(e));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    // ---- reading

    @Override
    public void load(Loader loader) throws StoreUnusable, LogFailure {
        takeBack();
        nextId = 1;
        forget();
        space = new LogSpace();
        oldestId = 0;
        int records = 0;
        for (long from = stored.first(); from < stored.next(); from += READS) {
            long end = Math.min(stored.next(), from + READS);
            List<Object> batches = read(from, end);
            for (long number = from; number < end; number++) {
                byte[] bytes = (byte[]) batches.get((int) (number - from));
                if (bytes != null) {
                    long firstId = nextId;
                    records = take(number, bytes, loader, records);
                    space.stored(number, firstId, bytes.length);
                }
            }
            loader.progress();
        }
        if (comparesBatches && space.count() < stored.count()) {
            damaged();
        }
        comparesBatches = false;
        stored = stored.withCount(space.count());
        begin();
    }

    /** Over the connection that claimed: what another primary has is another log. */
    private List<Object> read(long first, long end) throws StoreUnusable, LogFailure {
        Reply claim = granted;
        if (claim == null) {
            throw new IllegalStateException("no claim was granted");
        }
        String key = keys.batches(generation);
        List<String> words = new ArrayList<>(List.of("HMGET", key));
        LongStream.range(first, end).mapToObj(Long::toString).forEach(words::add);
        try {
            return link.ask(claim, words.toArray(String[]::new)).get();
        } catch (ExecutionException e) {
            String error = Refusal.of(e).error();
            if (error != null && error.startsWith("WRONGTYPE")) {
                throw unusable(
                        "has a key " + key
                                + " that is no hash; restore it, or delete it, which is a loss of data, or use another --store-prefix");
            }
            suspected = claim;
            throw LogFailure.unknown(line(e));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** Returns how many records were handed over so far. */
    private int take(long number, byte[] bytes, Loader loader, int before) throws StoreUnusable, LogFailure {
        int records = before;
        try {
            for (Change change : RecordBatch.changes(bytes)) {
                if (++records % RECORDS_PER_PROGRESS == 0) {
                    loader.progress();
                }
                nextId = Math.max(nextId, change.getId() + 1);
                if (change.getDeleted()) {
                    loader.deleted(change.getId());
                } else {
                    loader.record(
                            change.getId(), change.getIndex(), change.getBody().asReadOnlyByteBuffer());
                }
            }
        } catch (InvalidProtocolBufferException e) {
            throw new StoreUnusable(
                    "Redis " + uri() + " has a field " + number + " in " + keys.batches(generation)
                            + " that is no batch of records; restore the data from a copy, or delete the field",
                    e);
        }
        return records;
    }

    // ---- writing

    @Override
    public long add(byte[] body) {
        batch.put(nextId, 0, body);
        return nextId++;
    }

    @Override
    public void update(long id, int index, byte[] body) {
        batch.put(id, index, body);
    }

    @Override
    public void delete(long id) {
        batch.delete(id);
    }

    @Override
    public void keepsFrom(long id) {
        oldestId = id;
    }

    @Override
    public long rewritesBelow() {
        dropStored();
        return space.rewritesBelow(oldestId, nextId);
    }

    @Override
    public void beginCopy() {
        forget();
        generation = rewriting;
        stored = new LogWords.Batches(1, 1, 0);
        space = new LogSpace();
        oldestId = 0;
    }

    @Override
    public void syncCopy(long tokens) throws LogFailure {
        append(tokens, false, true);
    }

    @Override
    public void frees(boolean only) {
        frees = only;
    }

    @Override
    public void sync(long tokens) throws LogFailure {
        append(tokens, false, false);
    }

    @Override
    public void endClaim() throws LogFailure {
        append(0, true, false);
    }

    @Override
    public void send(long tokens, Sent whenReplied) {
        dropStored();
        SentBatch next = next(tokens, false, false);
        Reply reply = call(next);
        // What clients asked meanwhile may wait in their sockets still: read first, it is part of the next batch.
        var unused = reply.whenComplete((answer, failure) -> link.later(
                () -> whenReplied.replied(failure == null ? outcome(next, reply, answer) : failure(reply, failure))));
    }

    private void append(long tokens, boolean yields, boolean switches) throws LogFailure {
        takeBack();
        SentBatch next = next(tokens, yields, switches);
        Reply reply = call(next);
        LogFailure failure = outcome(next, reply, await(reply));
        if (failure != null) {
            throw failure;
        }
        dropStored();
    }

    /** After those that are in flight. */
    private SentBatch next(long tokens, boolean yields, boolean switches) {
        SentBatch last = sent.peekLast();
        long after = last == null ? seq : last.request.seq();
        long before = last == null ? storedTokens : last.request.tokensAfter();
        LogWords.Batches batches = last == null ? stored : last.after;
        byte[] bytes = batch.bytes();
        long first = space.firstKept(batches.first(), oldestId);
        SentBatch next = new SentBatch(
                new AppendRequest(writer, after + 1, before, Math.max(tokens, before), yields, switches),
                batch,
                batchFirstId,
                bytes,
                batches,
                batches.after(bytes.length > 0, first, space.count(batches.first(), first)));
        sent.add(next);
        begin();
        return next;
    }

    private Reply call(SentBatch next) {
        List<byte[]> words = LogWords.append(next.request, config.claimMillis(), next.before, next.after, next.bytes);
        return link.call(frees ? LogWords.APPEND_FREEING : LogWords.APPEND, keys.append(generation), words);
    }

    /** What Redis answered to an append: null if the batch is stored. */
    private @Nullable LogFailure outcome(SentBatch next, Reply reply, List<Object> answer) {
        if (!LogWords.isStored(answer)) {
            suspected = reply;
            return LogFailure.unknown("Redis " + uri() + " did not store a batch: " + LogWords.text(answer, 1));
        }
        next.stored = true;
        return null;
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
        suspected = reply;
        return LogFailure.unknown(line(failure));
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
