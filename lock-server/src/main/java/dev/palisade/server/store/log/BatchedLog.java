package dev.palisade.server.store.log;

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
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A log that several lock servers share: writes records as batches into a {@link BatchStorage}, and knows which of those that were sent are
 * stored. All but {@link #send} block; not for a thread on which the storage reports an outcome.
 */
public final class BatchedLog implements FencedLog {
    /** Batches that are read at one time. */
    private static final int READS = 64;
    /** Records handed over between two looks at the claim. */
    private static final int RECORDS_PER_PROGRESS = 10_000;

    private final BatchStorage storage;
    private final Candidate candidate;
    private final RandomGenerator random;
    private final EventLog events;
    private final String server;
    private static final String SETTLES =
            "the log may have lost data: its store was restarted, promoted, restored or emptied; it waits up to 2 s for its last owner";

    private static final String LOST =
            "the log may have lost data: its store was restarted, promoted, restored or emptied; no new lock is granted for recovering_ms";

    private static final String NO_LOG =
            "there was no log: the very first start has --init; at a later start check --store and --store-prefix, and whether the store"
                    + " was emptied; no new lock is granted for recovering_ms";

    private static final String INIT_IGNORED =
            "--init is for a store that never had locks, but this one has a log: start without it, else a start after a loss of data grants"
                    + " new locks at once";

    private static final String SAME_ADDRESS =
            "another lock server with this --advertise is active: give each server its own address, else clients find only one of them";

    private WriterId writer = WriterId.NONE;
    private long seq;
    private long storedTokens;
    private BatchSpan stored = BatchSpan.NONE;
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
    /** Of an owner, those that were warned of; empty while its settings are this server's. */
    private String warnedSettings = "";

    private final ReadAhead ahead;
    /** Of the last batch before this server's claim. */
    private Position found = Position.NONE;

    /**
     * The lock server that asks for the log.
     *
     * @param address where clients reach it: host name and port
     * @param init whether a log that is empty, and was so since the server's start, is a new one
     * @param recoveryMillis how long after a loss nothing new is granted, so that holders come back first
     * @param settings which all servers of a log should have, as options
     * @param keys with which it signs
     */
    public record Candidate(String address, boolean init, long recoveryMillis, String settings, SigningKeys keys) {}

    private static final class SentBatch {
        final BatchStorage.Append append;
        final byte[] bytes;
        final RecordBatch records;
        final long firstId;
        /** Set by the storage. */
        volatile boolean stored;

        SentBatch(BatchStorage.Append append, byte[] bytes, RecordBatch records, long firstId) {
            this.append = append;
            this.bytes = bytes;
            this.records = records;
            this.firstId = firstId;
        }
    }

    /**
     * @param storage closed with the log
     * @param random of good quality: owners are compared by what it draws
     */
    public BatchedLog(BatchStorage storage, Candidate candidate, RandomGenerator random, EventLog events) {
        this.storage = storage;
        this.candidate = candidate;
        this.random = random;
        this.events = events;
        this.server = freshId().toString();
        this.ahead = new ReadAhead(storage, events);
    }

    /**
     * {@link Candidate#init} for a server that starts, and a warning if it may be in a unit file: then a start after a loss of
     * data would skip the recovery window.
     *
     * @param init whether the server has {@code --init}
     * @param hasLog whether there is a log at its start
     */
    public static boolean appliesInit(boolean init, boolean hasLog, EventLog events) {
        if (init && hasLog) {
            events.warn("init_ignored", "message", INIT_IGNORED);
        }
        return init && !hasLog;
    }

    /** What was seen once and is gone was lost: a standby that was started with {@code --init} takes no loss for a new log. */
    private boolean isNew() {
        return candidate.init() && !known;
    }

    private WriterId freshId() {
        return new WriterId(random.nextLong(), random.nextLong());
    }

    @Override
    public String kind() {
        return storage.kind();
    }

    @Override
    public String where() {
        return storage.name().substring(storage.name().indexOf(' ') + 1) + ", " + storage.path();
    }

    @Override
    public boolean isShared() {
        return true;
    }

    @Override
    public Optional<StoreStatus.SharedLog> status() {
        return storage.status();
    }

    @Override
    public boolean isBegun() {
        return begun;
    }

    // ---- claims

    @Override
    public ClaimReply claim(Past past) throws LogFailure {
        BatchStorage.Claim claim = ask(new ClaimRequest(
                freshId(), past, server, candidate.address(), !owned, isNew(), damaged, candidate.recoveryMillis()));
        ClaimReply reply = claim.reply();
        damaged = damaged && reply instanceof ClaimReply.Settling;
        boolean isFirst = reply instanceof ClaimReply.Claimed claimed
                && claimed.position().equals(Position.NONE)
                && isNew();
        known = true;
        candidate.keys().replied(owner(claim));
        if (reply instanceof ClaimReply.Held held) {
            if (held.address().equals(candidate.address())) {
                warnOnce("advertise_taken", "address", held.address(), "message", SAME_ADDRESS);
            } else {
                tellOnce("standby", "active", held.address());
            }
            compareSettings(held.address(), claim.ownerSettings());
            ahead.ownedBy(held.server());
        } else if (reply instanceof ClaimReply.Settling) {
            warnOnce("log_settles", "message", SETTLES);
        } else if (reply instanceof ClaimReply.Claimed claimed) {
            if (!claimed.mine()) {
                forget(); // Batches of a memory that counts no more.
                stored = claimed.whole() ? claim.batches() : claim.batches().withCount(BatchSpan.UNKNOWN);
                comparesBatches = claimed.whole();
                space = new LogSpace(); // Nothing is dropped before the log was read.
                oldestId = 0;
            }
            generation = claim.generation();
            rewriting = claim.rewriting();
            Optional<String> doubt = storage.doubt(claimed, isFirst);
            if (doubt.isPresent()) {
                writer = claimed.writer();
                seq = 0;
                storedTokens = claimed.tokens();
                endClaim(); // Another lock server may have no doubt.
                throw LogFailure.unknown(storage.name() + " " + doubt.get());
            }
            owns(claimed);
            tell(claimed, claim.takeover());
        }
        return reply;
    }

    private BatchStorage.Claim ask(ClaimRequest request) throws LogFailure {
        try {
            return storage.claim(request, candidate.keys().keyId(), candidate.settings());
        } catch (StoreUnusable e) {
            throw LogFailure.unknown(told(e));
        }
    }

    private String told(StoreUnusable unusable) {
        String line = String.valueOf(unusable.getMessage());
        warnOnce("log_unusable", "message", line);
        return line;
    }

    private static Optional<OwnerKey> owner(BatchStorage.Claim claim) {
        return claim.reply() instanceof ClaimReply.Held held
                ? Optional.of(new OwnerKey(held.address(), claim.ownerKeyId(), true))
                : Optional.empty();
    }

    private void compareSettings(String active, String owners) {
        if (owners.isEmpty() || owners.equals(candidate.settings())) {
            warnedSettings = "";
        } else if (!owners.equals(warnedSettings)) {
            warnedSettings = owners;
            events.warn(
                    "settings_differ",
                    "active",
                    active,
                    "message",
                    "the active lock server runs with " + owners + ", and this one with " + candidate.settings()
                            + ": a takeover changes what clients are promised; start all servers of a store with the same");
        }
    }

    private void tell(ClaimReply.Claimed claimed, StoreStatus.Takeover takeover) {
        lastTold = "";
        List<Object> pairs = new ArrayList<>(List.of(
                "term",
                claimed.term(),
                "memory",
                claimed.mine() ? "kept" : "loaded",
                "lost",
                claimed.whole() ? "nothing" : "unknown",
                "recovering_ms",
                Math.max(0, claimed.recoveringUntilMillis() - claimed.nowMillis())));
        if (!claimed.mine() && !takeover.why().isEmpty()) {
            pairs.addAll(List.of("why", takeover.why()));
        }
        if (!claimed.mine() && !takeover.fromAddress().isEmpty()) {
            pairs.addAll(List.of("from", takeover.fromAddress()));
        }
        if (claimed.whole()) {
            events.tell("log_claimed", pairs.toArray());
        } else {
            pairs.addAll(List.of("message", claimed.position().equals(Position.NONE) ? NO_LOG : LOST));
            events.warn("log_claimed", pairs.toArray());
        }
    }

    /** Claims are repeated several times a second: what is as before is no news. */
    private void tellOnce(String event, Object... pairs) {
        if (isNews(event + Arrays.toString(pairs))) {
            events.tell(event, pairs);
        }
    }

    private void warnOnce(String event, Object... pairs) {
        if (isNews(event + Arrays.toString(pairs))) {
            events.warn(event, pairs);
        }
    }

    private boolean isNews(String line) {
        boolean news = !line.equals(lastTold);
        lastTold = line;
        return news;
    }

    private void owns(ClaimReply.Claimed claimed) {
        found = claimed.position();
        for (SentBatch each : sent) {
            AppendRequest request = each.append.request();
            each.stored = request.writer().equals(found.writer()) && request.seq() <= found.seq();
        }
        takeBack();
        writer = claimed.writer();
        seq = 0;
        storedTokens = claimed.tokens();
        owned = true;
        begun = !found.equals(Position.NONE);
    }

    @Override
    public void damaged() throws LogFailure {
        damaged = true;
        stored = stored.withCount(BatchSpan.UNKNOWN);
        forget();
        endClaim();
        String line = storage.name() + " has lost records of the log under " + storage.path()
                + "; leases of unknown locks are restored by their clients within the recovery window";
        events.warn("store_warning", "message", line);
        throw LogFailure.unknown(line);
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
            BatchStorage.Append append = oldest.append;
            seq = append.request().seq();
            storedTokens = append.request().tokensAfter();
            stored = append.after();
            if (oldest.bytes.length > 0) {
                space.stored(append.before().next(), oldest.firstId, oldest.bytes.length);
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

    // ---- reading

    @Override
    public void load(Loader loader) throws StoreUnusable, LogFailure {
        startReading(1, new LogSpace());
        read(stored.first(), loader);
    }

    @Override
    public void loadRest(Supplier<? extends Loader> loaders) throws StoreUnusable, LogFailure {
        Optional<ReadAhead.Prefix> prefix =
                ahead.take(new BatchStorage.Contents(generation, stored, found)).filter(any -> comparesBatches);
        if (prefix.isPresent()) {
            ReadAhead.Prefix read = prefix.get();
            startReading(read.nextId(), read.space());
            read(read.next(), read.loader());
        } else {
            load(loaders.get());
        }
    }

    private void startReading(long id, LogSpace read) {
        takeBack();
        nextId = id;
        forget();
        space = read;
        space.dropped(stored.first());
        oldestId = 0;
    }

    private void read(long first, Loader loader) throws StoreUnusable, LogFailure {
        try {
            readBatches(first, loader);
        } catch (StoreUnusable e) {
            var unused = told(e);
            throw e;
        }
    }

    private void readBatches(long first, Loader loader) throws StoreUnusable, LogFailure {
        int records = 0;
        for (long from = first; from < stored.next(); from += READS) {
            long end = Math.min(stored.next(), from + READS);
            List<byte @Nullable []> batches = storage.read(generation, from, end);
            for (long number = from; number < end; number++) {
                byte[] bytes = batches.get((int) (number - from));
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

    /** Returns how many records were handed over since the last look at the claim. */
    private int take(long number, byte[] bytes, Loader loader, int before) throws StoreUnusable, LogFailure {
        RecordBatch.Contents contents = contents(storage, generation, number, bytes, loader);
        nextId = Math.max(nextId, contents.lastId() + 1);
        int records = before + contents.records();
        if (records < RECORDS_PER_PROGRESS) {
            return records;
        }
        loader.progress();
        return 0;
    }

    static RecordBatch.Contents contents(
            BatchStorage storage, long generation, long number, byte[] bytes, Loader loader) throws StoreUnusable {
        try {
            return RecordBatch.read(ByteBuffer.wrap(bytes), loader);
        } catch (InvalidProtocolBufferException e) {
            String path = storage.pathOf(generation, number);
            throw new StoreUnusable(
                    storage.name() + " has a " + path
                            + " that is no batch of records; restore the data from a copy, or delete it, which is a loss of data",
                    e);
        }
    }

    @Override
    public boolean readAhead(Supplier<? extends Loader> loaders) {
        return ahead.readNext(loaders);
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
        stored = new BatchSpan(1, 1, 0);
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
        send(next(tokens, false, false), whenReplied);
    }

    private void append(long tokens, boolean yields, boolean switches) throws LogFailure {
        takeBack();
        CompletableFuture<Optional<LogFailure>> outcome = new CompletableFuture<>();
        send(next(tokens, yields, switches), failure -> outcome.complete(Optional.ofNullable(failure)));
        try {
            Optional<LogFailure> failure = outcome.get(); // The storage lets no call wait for ever.
            if (failure.isPresent()) {
                throw failure.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw LogFailure.unknown("interrupted while " + storage.name() + " was asked");
        }
        dropStored();
    }

    private void send(SentBatch next, Sent whenReplied) {
        storage.append(next.append, next.bytes, failure -> {
            next.stored = failure == null;
            whenReplied.replied(failure);
        });
    }

    /** After those that are in flight. */
    private SentBatch next(long tokens, boolean yields, boolean switches) {
        SentBatch last = sent.peekLast();
        long after = last == null ? seq : last.append.request().seq();
        long before = last == null ? storedTokens : last.append.request().tokensAfter();
        BatchSpan batches = last == null ? stored : last.append.after();
        byte[] bytes = batch.bytes();
        long first = space.firstKept(batches.first(), oldestId);
        SentBatch next = new SentBatch(
                new BatchStorage.Append(
                        new AppendRequest(writer, after + 1, before, Math.max(tokens, before), yields, switches),
                        generation,
                        batches,
                        batches.after(bytes.length > 0, first, space.count(batches.first(), first)),
                        frees,
                        candidate.keys().keyId()),
                bytes,
                batch,
                batchFirstId);
        sent.add(next);
        begin();
        return next;
    }

    @Override
    public void close() {
        storage.close();
    }
}
