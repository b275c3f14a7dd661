package dev.palisade.server.store.log;

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
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** One lock server's client of a {@link MemoryLogServer}. */
final class MemoryLog implements FencedLog {
    private static final AtomicLong WRITERS = new AtomicLong();

    private final MemoryLogServer server;
    private final String address;
    private final boolean init;
    private final long recoveryMillis;
    private final String process = "process " + WRITERS.incrementAndGet();
    private WriterId writer = WriterId.NONE;
    private long seq;
    private long stored;
    private long nextId = 1;
    private long keepsFrom;
    private boolean begun;
    private boolean owned;
    private boolean damaged;
    private boolean frees;
    private Batch batch = new Batch(0, 0);
    /** Sent and not known to be stored, the oldest first. */
    private final Deque<Batch> sent = new ArrayDeque<>();

    private int readsAhead;
    private boolean cut;
    private Runnable whileLoading = () -> {};
    private boolean holdsReplies;
    private final Deque<Runnable> held = new ArrayDeque<>();

    private static final class Batch {
        final Map<Long, NavigableMap<Integer, byte[]>> written = new TreeMap<>();
        final List<Long> deleted = new ArrayList<>();
        final long seq;
        final long tokens;
        boolean stored;

        Batch(long seq, long tokens) {
            this.seq = seq;
            this.tokens = tokens;
        }

        void add(Batch later) {
            later.written.forEach((id, parts) ->
                    written.computeIfAbsent(id, fresh -> new TreeMap<>()).putAll(parts));
            later.deleted.forEach(this::delete);
        }

        void delete(long id) {
            written.remove(id);
            deleted.add(id);
        }
    }

    MemoryLog(MemoryLogServer server, String address, boolean init, long recoveryMillis) {
        this.server = server;
        this.address = address;
        this.init = init;
        this.recoveryMillis = recoveryMillis;
    }

    /** Whether nothing of this client arrives. */
    void cut(boolean isCut) {
        cut = isCut;
    }

    @Override
    public String kind() {
        return "memory";
    }

    @Override
    public String where() {
        return "here";
    }

    @Override
    public boolean isShared() {
        return true;
    }

    @Override
    public void damaged() throws LogFailure {
        damaged = true;
        forget();
        endClaim();
        throw LogFailure.unknown("the memory log has lost records");
    }

    @Override
    public boolean isBegun() {
        return begun;
    }

    @Override
    public ClaimReply claim(Past past) throws LogFailure {
        reach();
        WriterId fresh = new WriterId(77, WRITERS.incrementAndGet());
        ClaimReply reply =
                server.claim(new ClaimRequest(fresh, past, process, address, !owned, init, damaged, recoveryMillis));
        damaged = damaged && reply instanceof ClaimReply.Settling;
        if (reply instanceof ClaimReply.Claimed claimed) {
            Position found = claimed.position();
            sent.forEach(each -> each.stored = writer.equals(found.writer()) && each.seq <= found.seq());
            takeBack();
            writer = fresh;
            seq = 0;
            stored = claimed.tokens();
            owned = true;
            begun = !found.equals(Position.NONE);
        }
        return reply;
    }

    private void reach() throws LogFailure {
        if (cut) {
            throw LogFailure.unknown("cut off");
        }
    }

    private void forget() {
        batch = new Batch(0, 0);
        sent.clear();
    }

    /** What is not stored is part of the next batch. */
    private void takeBack() {
        dropStored();
        Batch all = new Batch(0, 0);
        sent.forEach(all::add);
        all.add(batch);
        batch = all;
        sent.clear();
    }

    private void dropStored() {
        for (Batch oldest = sent.peek(); oldest != null && oldest.stored; oldest = sent.peek()) {
            seq = oldest.seq;
            stored = oldest.tokens;
            sent.remove();
        }
    }

    @Override
    public void load(Loader loader) throws StoreUnusable, LogFailure {
        reach();
        takeBack();
        forget();
        whileLoading.run();
        nextId = 1;
        keepsFrom = 0;
        for (Map.Entry<Long, NavigableMap<Integer, byte[]>> record :
                server.records().entrySet()) {
            for (Map.Entry<Integer, byte[]> part : record.getValue().entrySet()) {
                loader.record(record.getKey(), part.getKey(), ByteBuffer.wrap(part.getValue()));
            }
            nextId = record.getKey() + 1;
            loader.progress();
        }
    }

    /** Three parts each time. */
    @Override
    public boolean readAhead(Supplier<? extends Loader> loaders) {
        return ++readsAhead % 3 != 0;
    }

    int readsAhead() {
        return readsAhead;
    }

    @Override
    public long add(byte[] body) {
        update(nextId, 0, body);
        return nextId++;
    }

    @Override
    public void update(long id, int index, byte[] body) {
        batch.written.computeIfAbsent(id, fresh -> new TreeMap<>()).put(index, body);
    }

    @Override
    public void delete(long id) {
        batch.delete(id);
    }

    @Override
    public void keepsFrom(long oldestId) {
        keepsFrom = oldestId;
    }

    @Override
    public long rewritesBelow() {
        return server.rewrites() ? nextId : 0;
    }

    @Override
    public void beginCopy() {
        forget();
        keepsFrom = 0;
    }

    @Override
    public void syncCopy(long tokens) throws LogFailure {
        takeBack();
        append(tokens, false, true);
    }

    @Override
    public void frees(boolean only) {
        frees = only;
    }

    @Override
    public void sync(long tokens) throws LogFailure {
        takeBack();
        append(tokens, false, false);
    }

    /** Happens between the claim and the end of each load. */
    void whileLoading(Runnable happens) {
        whileLoading = happens;
    }

    /** From now on the outcomes of batches that are sent wait for {@link #reply}. */
    void holdReplies() {
        holdsReplies = true;
    }

    /** Delivers the oldest outcome that was held, on this thread. */
    void reply() {
        held.remove().run();
    }

    /** How many outcomes are held. */
    int sending() {
        return held.size();
    }

    @Override
    public void send(long tokens, Sent whenReplied) {
        dropStored();
        LogFailure failure = null;
        try {
            append(tokens, false, false);
        } catch (LogFailure e) {
            failure = e;
        }
        LogFailure outcome = failure;
        if (holdsReplies) {
            held.add(() -> whenReplied.replied(outcome));
        } else {
            whenReplied.replied(outcome);
        }
    }

    @Override
    public void endClaim() throws LogFailure {
        takeBack();
        append(0, true, false);
    }

    /** After those that are in flight. */
    private void append(long tokens, boolean yields, boolean switches) throws LogFailure {
        Batch last = sent.peekLast();
        long before = last == null ? stored : last.tokens;
        Batch next = new Batch((last == null ? seq : last.seq) + 1, Math.max(before, tokens));
        next.add(batch);
        batch = new Batch(0, 0);
        sent.add(next);
        reach();
        server.append(
                new MemoryLogServer.Append(
                        new AppendRequest(writer, next.seq, before, next.tokens, yields, switches),
                        next.written,
                        next.deleted,
                        keepsFrom),
                frees);
        next.stored = true;
    }

    @Override
    public void close() {}
}
