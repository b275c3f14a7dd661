package dev.palisade.server.store.log;

import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.StoreUnusable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

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
    private boolean begun;
    private boolean owned;
    private boolean damaged;
    private boolean frees;
    private Map<Long, NavigableMap<Integer, byte[]>> written = new TreeMap<>();
    private List<Long> deleted = new ArrayList<>();
    private boolean cut;
    private Runnable whileLoading = () -> {};
    private boolean holdsReplies;
    private @Nullable Runnable held;

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
            writer = fresh;
            seq = 0;
            stored = claimed.tokens();
            owned = true;
            begun = !claimed.position().equals(Position.NONE);
            if (begun && claimed.position().equals(past.unconfirmed())) {
                forget();
            }
        }
        return reply;
    }

    private void reach() throws LogFailure {
        if (cut) {
            throw LogFailure.unknown("cut off");
        }
    }

    private void forget() {
        written = new TreeMap<>();
        deleted = new ArrayList<>();
    }

    @Override
    public void load(Loader loader) throws StoreUnusable, LogFailure {
        reach();
        forget();
        whileLoading.run();
        nextId = 1;
        for (Map.Entry<Long, NavigableMap<Integer, byte[]>> record :
                server.records().entrySet()) {
            for (Map.Entry<Integer, byte[]> part : record.getValue().entrySet()) {
                loader.record(record.getKey(), part.getKey(), ByteBuffer.wrap(part.getValue()));
            }
            nextId = record.getKey() + 1;
            loader.progress();
        }
    }

    @Override
    public long add(byte[] body) {
        update(nextId, 0, body);
        return nextId++;
    }

    @Override
    public void update(long id, int index, byte[] body) {
        written.computeIfAbsent(id, fresh -> new TreeMap<>()).put(index, body);
    }

    @Override
    public void delete(long id, int updates) {
        written.remove(id);
        deleted.add(id);
    }

    @Override
    public void frees(boolean only) {
        frees = only;
    }

    @Override
    public void sync(long tokens) throws LogFailure {
        append(tokens, false);
    }

    /** Happens between the claim and the end of each load. */
    void whileLoading(Runnable happens) {
        whileLoading = happens;
    }

    /** From now on the outcomes of batches that are sent wait for {@link #reply}. */
    void holdReplies() {
        holdsReplies = true;
    }

    /** Delivers the outcome that was held, on this thread. */
    void reply() {
        Runnable reply = held;
        held = null;
        if (reply == null) {
            throw new IllegalStateException("no batch was sent");
        }
        reply.run();
    }

    boolean isSending() {
        return held != null;
    }

    @Override
    public void send(long tokens, Sent sent) {
        if (!holdsReplies) {
            FencedLog.super.send(tokens, sent);
        } else if (held != null) {
            throw new IllegalStateException("a second batch in flight");
        } else {
            FencedLog.super.send(tokens, failure -> held = () -> sent.replied(failure));
        }
    }

    @Override
    public void endClaim() throws LogFailure {
        append(stored, true);
    }

    private void append(long tokens, boolean yields) throws LogFailure {
        reach();
        server.append(
                new MemoryLogServer.Append(
                        new AppendRequest(writer, seq + 1, stored, tokens, yields, false), written, deleted),
                frees);
        seq++;
        stored = tokens;
        forget();
    }

    @Override
    public void close() {}
}
