package dev.palisade.server.store.log;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.AppendDecision;
import dev.palisade.server.ownership.ClaimDecision;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.LogRules;
import dev.palisade.server.ownership.LogState;
import dev.palisade.server.store.StoreUnusable;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A shared log's server in memory, which follows {@link LogRules} and fails as a test tells it to. Safe for use by several threads. */
final class MemoryLogServer {
    static final long CLAIM_MILLIS = 2_000;
    static final long SETTLE_MILLIS = 1_000;

    /** What happens to one request. */
    enum Fault {
        /** It never arrives, and the sender hears nothing. */
        LOST,
        /** It is executed, and the reply is lost. */
        UNANSWERED,
        /** It arrives when {@link #deliverDelayed} says so, and the sender hears nothing. */
        DELAYED,
        /** It is executed now and again with {@link #deliverDelayed}. */
        REPEATED,
        /** The log refuses records for lack of space. */
        REFUSED
    }

    /** An append on its way. */
    private record Sent(BatchStorage.Append append, ByteBuffer bytes) {}

    /**
     * A copy of everything stored.
     *
     * @param batches by generation and number; may be changed
     */
    record Image(LogState state, BatchSpan span, Map<Long, NavigableMap<Long, byte[]>> batches) {
        /** Of the generation that counts. */
        NavigableMap<Long, byte[]> counting() {
            LogState.Head head = state.head();
            return of(batches, head == null ? 1 : head.generation());
        }

        /** By id, the parts of each record that is not deleted. */
        NavigableMap<Long, NavigableMap<Integer, byte[]>> records() {
            return replay(counting());
        }

        /** Loses one part of a record. */
        void lose(long id, int index) {
            counting().replaceAll((number, bytes) -> {
                RecordBatch rest = new RecordBatch();
                read(bytes, new FencedLog.Loader() {
                    @Override
                    public void record(long each, int part, ByteBuffer body) {
                        if (each != id || part != index) {
                            rest.put(each, part, bytes(body));
                        }
                    }

                    @Override
                    public void deleted(long each) {
                        rest.delete(each);
                    }
                });
                return rest.bytes();
            });
        }
    }

    final AtomicLong millis;
    static final String FULL = "OOM";

    private final LogRules rules;
    private LogState state = new LogState(null, 0, "instance 1", null, null);
    private BatchSpan span = new BatchSpan(1, 1, 0);
    private String ownerKeyId = "";
    private String ownerSettings = "";
    /** By generation and number. */
    private Map<Long, NavigableMap<Long, byte[]>> batches = new TreeMap<>();

    private final Deque<Fault> faults = new ArrayDeque<>();
    private final List<Sent> delayed = new ArrayList<>();
    private final RandomGenerator random = new SplittableRandom(77);
    private int lostAppends;
    private boolean full;
    private int instances = 1;
    private int appends;

    MemoryLogServer(AtomicLong millis) {
        this(millis, new LogRules(CLAIM_MILLIS, SETTLE_MILLIS));
    }

    MemoryLogServer(AtomicLong millis, LogRules rules) {
        this.millis = millis;
        this.rules = rules;
    }

    /** The next requests fail so, one after another. */
    synchronized void next(Fault... each) {
        faults.addAll(List.of(each));
    }

    /** The next appends never arrive; claims do. */
    synchronized void losesAppends(int next) {
        lostAppends = next;
    }

    /** Until it is said again, every batch that is not sent to free something is refused. */
    synchronized void full(boolean isFull) {
        full = isFull;
    }

    /** Delivers what was delayed or is repeated, oldest first; says for each whether it was stored. */
    synchronized List<Boolean> deliverDelayed() {
        List<Boolean> stored = delayed.stream().map(this::execute).toList();
        delayed.clear();
        return stored;
    }

    synchronized Image image() {
        return new Image(state, span, copy(batches));
    }

    /** The data go back to an earlier image in a running process, as by RESTORE or a demotion and promotion. */
    synchronized void restore(Image image) {
        become(image);
        state = new LogState(
                image.state().head(), image.state().tokens(), state.instance(), state.seen(), state.settling());
    }

    /** A replica with an earlier image becomes the primary. */
    synchronized void promote(Image image) {
        become(image);
        state = new LogState(image.state().head(), image.state().tokens(), "instance " + ++instances, null, null);
    }

    private void become(Image image) {
        span = image.span();
        batches = copy(image.batches());
    }

    /** All data go; the process lives. */
    synchronized void flush() {
        state = new LogState(null, 0, state.instance(), state.seen(), state.settling());
        span = new BatchSpan(1, 1, 0);
        batches = new TreeMap<>();
    }

    /** Another process with the same data. */
    synchronized void restart() {
        promote(image());
    }

    /** The process forgets what it saw; data and instance stay. */
    synchronized void reloadLibrary() {
        state = new LogState(state.head(), state.tokens(), state.instance(), null, null);
    }

    synchronized BatchSpan span() {
        return span;
    }

    synchronized LogState state() {
        return state;
    }

    synchronized int appends() {
        return appends;
    }

    /** As in {@link Image}. */
    synchronized NavigableMap<Long, NavigableMap<Integer, byte[]>> records() {
        return image().records();
    }

    /** Of the identities of writers; the same in each run. */
    RandomGenerator random() {
        return random;
    }

    synchronized BatchStorage.Claim claim(ClaimRequest request, String keyId, String settings) throws LogFailure {
        Fault fault = faults.poll();
        if (fault == Fault.LOST || fault == Fault.DELAYED) {
            throw LogFailure.unknown("cut off");
        }
        LogState.Head head = state.head();
        boolean isComplete = head == null || of(batches, head.generation()).size() >= span.count();
        ClaimDecision decision = rules.claim(isComplete ? state : withoutHistory(), request, millis.get());
        ClaimReply reply = decision.reply();
        if (reply instanceof ClaimReply.Claimed) {
            if (head != null) {
                batches.remove(head.rewriting()); // A copy that was not completed.
            }
            state = decision.next();
            batches.remove(head().rewriting());
        } else {
            state = isComplete
                    ? decision.next()
                    : new LogState(
                            head,
                            state.tokens(),
                            state.instance(),
                            state.seen(),
                            decision.next().settling());
        }
        String owner = ownerKeyId;
        String ofOwner = ownerSettings;
        if (reply instanceof ClaimReply.Claimed) {
            ownerKeyId = keyId;
            ownerSettings = settings;
        }
        if (fault == Fault.UNANSWERED) {
            throw LogFailure.unknown("no reply");
        }
        return reply instanceof ClaimReply.Claimed
                ? new BatchStorage.Claim(
                        reply, span, head().generation(), head().rewriting(), "", "", StoreStatus.Takeover.UNKNOWN)
                : BatchStorage.Claim.refused(reply, owner, ofOwner);
    }

    private LogState withoutHistory() {
        return new LogState(head().withoutHistory(), state.tokens(), state.instance(), state.seen(), state.settling());
    }

    synchronized Optional<BatchStorage.Contents> look() {
        return Optional.ofNullable(state.head())
                .map(head -> new BatchStorage.Contents(head.generation(), span, head.position()));
    }

    synchronized List<byte @Nullable []> read(long generation, long first, long end) {
        List<byte @Nullable []> read = new ArrayList<>();
        for (long number = first; number < end; number++) {
            read.add(of(batches, generation).get(number));
        }
        return read;
    }

    synchronized void append(BatchStorage.Append append, byte[] bytes) throws LogFailure {
        if (lostAppends > 0) {
            lostAppends--;
            throw LogFailure.unknown("cut off");
        }
        Fault fault = faults.poll();
        if (fault == Fault.REFUSED || (full && !append.frees())) {
            throw LogFailure.refused(FULL);
        }
        Sent sent = new Sent(append, ByteBuffer.wrap(bytes));
        if (fault == Fault.DELAYED || fault == Fault.REPEATED) {
            delayed.add(sent);
        }
        if (fault == Fault.LOST || fault == Fault.DELAYED) {
            throw LogFailure.unknown("cut off");
        }
        boolean stored = execute(sent);
        if (fault == Fault.UNANSWERED) {
            throw LogFailure.unknown("no reply");
        }
        if (!stored) {
            throw LogFailure.unknown("not the owner");
        }
    }

    private boolean execute(Sent sent) {
        BatchStorage.Append append = sent.append();
        NavigableMap<Long, byte[]> to = of(batches, append.generation());
        AppendDecision decision = rules.append(state, append.request(), millis.get());
        if (!decision.stored() || to.size() < append.before().count()) {
            return false;
        }
        boolean copies = head().rewriting() != 0 && !append.request().switches();
        state = decision.next();
        appends++;
        ownerKeyId = append.keyId();
        if (sent.bytes().hasRemaining()) {
            to.put(append.after().next() - 1, sent.bytes().array());
        }
        if (append.request().switches()) {
            batches.keySet().removeIf(generation -> generation != append.generation());
        }
        if (!copies) {
            long count = append.after().count() == BatchSpan.UNKNOWN
                    ? span.count()
                    : append.after().count();
            span = append.after().withCount(count);
            drop(to.headMap(span.first(), false));
        }
        return true;
    }

    private void drop(NavigableMap<Long, byte[]> dropped) {
        if (!dropped.isEmpty()) {
            NavigableMap<Long, NavigableMap<Integer, byte[]>> before = records();
            dropped.clear();
            if (!records().keySet().equals(before.keySet())) {
                throw new AssertionError("place of records that are kept is given up: " + before.firstKey());
            }
        }
    }

    private static NavigableMap<Long, byte[]> of(Map<Long, NavigableMap<Long, byte[]>> batches, long generation) {
        return batches.computeIfAbsent(generation, fresh -> new TreeMap<>());
    }

    private static Map<Long, NavigableMap<Long, byte[]>> copy(Map<Long, NavigableMap<Long, byte[]>> from) {
        Map<Long, NavigableMap<Long, byte[]>> to = new TreeMap<>();
        from.forEach((generation, all) -> to.put(generation, new TreeMap<>(all)));
        return to;
    }

    private static NavigableMap<Long, NavigableMap<Integer, byte[]>> replay(NavigableMap<Long, byte[]> batches) {
        NavigableMap<Long, NavigableMap<Integer, byte[]>> records = new TreeMap<>();
        batches.values()
                .forEach(each -> read(each, new FencedLog.Loader() {
                    @Override
                    public void record(long id, int index, ByteBuffer body) {
                        records.computeIfAbsent(id, fresh -> new TreeMap<>()).put(index, bytes(body));
                    }

                    @Override
                    public void deleted(long id) {
                        records.remove(id);
                    }
                }));
        return records;
    }

    private static void read(byte[] batch, FencedLog.Loader loader) {
        try {
            RecordBatch.read(ByteBuffer.wrap(batch), loader);
        } catch (InvalidProtocolBufferException | StoreUnusable e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] bytes(ByteBuffer body) {
        byte[] bytes = new byte[body.remaining()];
        body.get(bytes);
        return bytes;
    }

    /** The stored head. */
    private LogState.Head head() {
        return Objects.requireNonNull(state.head());
    }
}
