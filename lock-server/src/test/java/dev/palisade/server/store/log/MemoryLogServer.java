package dev.palisade.server.store.log;

import dev.palisade.server.ownership.AppendDecision;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimDecision;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.LogRules;
import dev.palisade.server.ownership.LogState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
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
    record Append(
            AppendRequest request,
            Map<Long, NavigableMap<Integer, byte[]>> written,
            List<Long> deleted,
            long keepsFrom) {}

    /** A copy of everything stored. */
    record Image(LogState state, NavigableMap<Long, NavigableMap<Integer, byte[]>> records) {}

    final AtomicLong millis;
    private final LogRules rules;
    private LogState state = new LogState(null, 0, "instance 1", null, null);
    private NavigableMap<Long, NavigableMap<Integer, byte[]>> records = new TreeMap<>();
    /** What a server writes from its memory, until it is complete. */
    private NavigableMap<Long, NavigableMap<Integer, byte[]>> copied = new TreeMap<>();

    private final Deque<Fault> faults = new ArrayDeque<>();
    private final List<Append> delayed = new ArrayList<>();
    private int lostAppends;
    private boolean full;
    private boolean rewrites;
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
        return new Image(state, copy(records));
    }

    /** The data go back to an earlier image in a running process, as by RESTORE or a demotion and promotion. */
    synchronized void restore(Image image) {
        state = new LogState(
                image.state().head(), image.state().tokens(), state.instance(), state.seen(), state.settling());
        records = copy(image.records());
    }

    /** A replica with an earlier image becomes the primary. */
    synchronized void promote(Image image) {
        state = new LogState(image.state().head(), image.state().tokens(), "instance " + ++instances, null, null);
        records = copy(image.records());
    }

    /** All data go; the process lives. */
    synchronized void flush() {
        state = new LogState(null, 0, state.instance(), state.seen(), state.settling());
        records = new TreeMap<>();
    }

    /** Another process with the same data. */
    synchronized void restart() {
        promote(image());
    }

    /** The process forgets what it saw; data and instance stay. */
    synchronized void reloadLibrary() {
        state = new LogState(state.head(), state.tokens(), state.instance(), null, null);
    }

    synchronized LogState state() {
        return state;
    }

    synchronized int appends() {
        return appends;
    }

    synchronized NavigableMap<Long, NavigableMap<Integer, byte[]>> records() {
        return copy(records);
    }

    synchronized ClaimReply claim(ClaimRequest request) throws LogFailure {
        Fault fault = faults.poll();
        if (fault == Fault.LOST || fault == Fault.DELAYED) {
            throw LogFailure.unknown("cut off");
        }
        ClaimDecision decision = rules.claim(state, request, millis.get());
        if (decision.reply() instanceof ClaimReply.Claimed) {
            copied = new TreeMap<>();
        }
        state = decision.next();
        if (fault == Fault.UNANSWERED) {
            throw LogFailure.unknown("no reply");
        }
        return decision.reply();
    }

    /** From now on the log's owners are to write every record anew. */
    synchronized void wantsRewrites() {
        rewrites = true;
    }

    synchronized boolean rewrites() {
        return rewrites;
    }

    synchronized void append(Append append, boolean frees) throws LogFailure {
        if (lostAppends > 0) {
            lostAppends--;
            throw LogFailure.unknown("cut off");
        }
        Fault fault = faults.poll();
        if (fault == Fault.REFUSED || (full && !frees)) {
            throw LogFailure.refused("OOM");
        }
        if (fault == Fault.DELAYED || fault == Fault.REPEATED) {
            delayed.add(append);
        }
        if (fault == Fault.LOST || fault == Fault.DELAYED) {
            throw LogFailure.unknown("cut off");
        }
        boolean stored = execute(append);
        if (fault == Fault.UNANSWERED) {
            throw LogFailure.unknown("no reply");
        }
        if (!stored) {
            throw LogFailure.unknown("not the owner");
        }
    }

    private boolean execute(Append append) {
        LogState.Head head = state.head();
        boolean copies = head != null && head.rewriting() != 0;
        AppendDecision decision = rules.append(state, append.request(), millis.get());
        state = decision.next();
        if (decision.stored()) {
            appends++;
            NavigableMap<Long, NavigableMap<Integer, byte[]>> to = copies ? copied : records;
            append.written()
                    .forEach((id, parts) ->
                            to.computeIfAbsent(id, fresh -> new TreeMap<>()).putAll(parts));
            append.deleted().forEach(to::remove);
            if (append.request().switches()) {
                records = copied;
                copied = new TreeMap<>();
            }
            if (!records.headMap(append.keepsFrom()).isEmpty()) {
                throw new AssertionError("place of records that are kept is given up: " + records.firstKey());
            }
        }
        return decision.stored();
    }

    private static NavigableMap<Long, NavigableMap<Integer, byte[]>> copy(
            NavigableMap<Long, NavigableMap<Integer, byte[]>> from) {
        NavigableMap<Long, NavigableMap<Integer, byte[]>> to = new TreeMap<>();
        from.forEach((id, parts) -> to.put(id, new TreeMap<>(parts)));
        return to;
    }

    /** The writer of the stored head; null in an empty log. */
    synchronized LogState.@Nullable Head head() {
        return state.head();
    }
}
