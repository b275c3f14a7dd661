package dev.palisade.server.store.log;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockMachine;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.store.log.format.Entry;
import dev.palisade.server.store.log.format.Epoch;
import dev.palisade.server.store.log.format.Record;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The lock table: all locks in memory, each change of which is written to the log before it counts. It decides commands by the
 * lock machine, and never syncs: a decision may be told only after the log was synced. Touched by one thread at a time.
 */
final class LockTable {
    /** Limit of the events that time causes in one batch; the last lock may exceed it. A larger batch could outlast the claim. */
    private static final int EXPIRED_MAX = 2_000;

    private final LoggedStoreConfig config;
    private final Limits limits;
    private final FencedLog log;
    private final Records records;
    private volatile TokenCounter tokens;
    private final Map<LockName, Slot> slots;
    private final Deadlines deadlines = new Deadlines();
    /** Idle slots of locks that are not closed, the one that was touched longest ago first. */
    private final Set<Slot> unused = new LinkedHashSet<>();
    /** Idle slots of closed locks, which are never forgotten early; the one that opens next first. */
    private final NavigableSet<Slot> closedIdle =
            new TreeSet<>(Comparator.comparingLong((Slot slot) -> slot.state.closedUntilMillis())
                    .thenComparing(slot -> slot.state.name().value()));

    private final Names names = new Names();
    private final History history;
    /** Locks that are still to be decided after the end of the recovery window. */
    private final Deque<Slot> recovered = new ArrayDeque<>();

    private int waiters;
    private long epochRecordId;
    private long forgottenUntilMillis;
    private long recoveringUntilMillis;

    /**
     * Begins a new epoch of tokens with what was loaded: no lease, offer or waiter lost time meanwhile.
     *
     * @param log from which {@code restored} was loaded; the caller syncs it
     */
    LockTable(
            LoggedStoreConfig config, Limits limits, FencedLog log, Restored restored, TokenCounter tokens, long now) {
        this.config = config;
        this.limits = limits;
        this.log = log;
        this.records = new Records(log);
        this.tokens = tokens;
        this.slots = restored.slots;
        this.history = new History(records, config.historyMax());
        this.forgottenUntilMillis = restored.forgottenUntilMillis;
        history.restore(restored.forced, slots);
        keep(restored);
        writeEpoch(now);
        restored.epochIds.forEach(log::delete);
        restored.superseded.forEach(log::delete);
        restored.incomplete.forEach(log::delete);
        for (Slot slot : slots.values()) {
            slot.state = slot.state.restarted(now).withForgottenUntil(forgottenUntilMillis);
            waiters += waiters(slot.state);
            names.add(slot);
            deadlines.schedule(slot, now);
        }
        slots.values().stream()
                .filter(Slot::isIdle)
                .sorted(Comparator.comparingLong(slot -> slot.state.forgettableAtMillis()))
                .forEach(slot -> idle(slot, now));
    }

    private void keep(Restored restored) {
        NavigableMap<Long, Records.Rewriter> kept = new TreeMap<>(history.kept());
        for (Slot slot : restored.slots.values()) {
            kept.put(slot.recordId, at -> rebase(slot, at));
        }
        kept.forEach(records::restored);
    }

    /** Begins an epoch of tokens; the next sync makes it last. */
    void begin(TokenCounter epoch, long now) {
        tokens = epoch;
        writeEpoch(now);
    }

    /**
     * Writes all records into a log that lost data, under a new epoch of tokens: another server may have issued some meanwhile.
     *
     * @param part stores what was written so far
     */
    void copy(TokenCounter epoch, long now, Records.Part part) throws LogFailure {
        tokens = epoch;
        records.copy(now, part);
    }

    /** Writes old records anew if the log asks for it and {@code adds} lets it; called before each sync of a shared log. */
    void compact(long now, boolean adds) {
        records.compact(now, adds);
    }

    List<HistoryEntry> history(LockName lock) {
        return history.of(lock);
    }

    LockPage list(String prefix, String after, int locksMax, CommandBatch batch) {
        Names.Walk walk = names.walk(prefix, after, locksMax, batch.namesLeft(), batch.now);
        batch.visited(walk.lookedAt());
        return walk.page();
    }

    TokenCounter tokens() {
        return tokens;
    }

    /**
     * Starts again after a time without the log: no lease, offer or waiter lost time meanwhile.
     *
     * @param recoveringUntil end of the recovery window, until which nothing new is granted; 0 for none
     */
    void resume(long now, long recoveringUntil) {
        recoveringUntilMillis = recoveringUntil;
        recovered.clear();
        for (Slot slot : slots.values()) {
            slot.state = slot.state.restarted(now);
            deadlines.schedule(slot, now);
        }
    }

    /** For how long from {@code now} on nothing new is granted. */
    long recoveringMillis(long now) {
        return Math.max(0, recoveringUntilMillis - now);
    }

    /** Decides what time alone has changed. What is beyond the limit follows in the next batches. */
    void expire(CommandBatch batch) {
        if (recoveringUntilMillis != 0 && recoveringUntilMillis <= batch.now) {
            recoveringUntilMillis = 0;
            recovered.addAll(slots.values());
        }
        for (int left = EXPIRED_MAX; left > 0; ) {
            Slot slot = recovered.isEmpty() ? deadlines.poll(batch.now) : recovered.remove();
            if (slot == null) {
                return;
            }
            Decision decision = step(slot, new Expire(slot.state.name()), batch.now);
            take(slot, decision, batch);
            deadlines.schedule(slot, batch.now);
            left -= Math.max(1, decision.events().size());
        }
    }

    /** Decides {@code command}, and writes what must last into the log. */
    Answer answer(Command command, CommandBatch batch) {
        Slot slot = slots.get(command.lock());
        if (slot == null) {
            if (slots.size() >= config.locksMax() && createsRecord(command)) {
                return locksMaxReached();
            }
            slot = new Slot(LockState.unused(command.lock(), forgottenUntilMillis));
        }
        if (command instanceof Reclaim reclaim) {
            raise(reclaim.token(), batch.now);
        } else if (command instanceof CheckSequencer check) {
            raise(check.token(), batch.now);
        }
        Decision decision = step(slot, command, batch.now);
        int more = waiters(decision.next()) - waiters(slot.state);
        if (command instanceof Acquire && more > 0 && waiters + more > config.waitersMax()) {
            return waitersMaxReached(); // A decision that is not adopted has no effect.
        }
        take(slot, decision, batch);
        return decision.answer();
    }

    /** Undoes a grant or an offer that its client does not know of. A waiter keeps its place, and its next offer has a newer token. */
    void takeBack(LockRequest request, CommandBatch batch) {
        Slot slot = slots.get(request.lock());
        if (slot == null) {
            return;
        }
        Optional<Grant> offered = slot.state.promised(request.id());
        if (offered.isPresent()) {
            LockEvent withdrawn = new LockEvent.Withdrawn(offered.get().id());
            LockState waits = withdrawn.applyTo(slot.state);
            take(slot, new Decision(waits, new Answer.Expired(), List.of(withdrawn), tokens.last()), batch);
            take(slot, step(slot, new Expire(request.lock()), batch.now), batch);
        }
        for (Grant held : slot.state.holders()) {
            if (held.request().id().equals(request.id())) {
                var unused = answer(
                        new Release(
                                request.lock(),
                                held.id(),
                                held.token(),
                                request.id().session()),
                        batch);
            }
        }
    }

    /** A token that is authentic: the engine verified it. A grant has the tokens right above its own, too. */
    private void raise(FencingToken token, long now) {
        tokens.raise(token.value() + FencingToken.PER_GRANT - 1, now);
    }

    private Decision step(Slot slot, Command command, long now) {
        return LockMachine.step(slot.state, command, now, tokens.last(), recoveringUntilMillis, limits);
    }

    /** Takes a decision over into memory and the journal's buffer. */
    private void take(Slot slot, Decision decision, CommandBatch batch) {
        if (tokens.issued(decision.lastToken())) {
            writeEpoch(batch.now);
            batch.written = true;
        }
        if (decision.events().isEmpty()) {
            return; // A barrier takes a token and changes nothing else.
        }
        history.take(slot.state, decision, batch.now);
        waiters += waiters(decision.next()) - waiters(slot.state);
        unused.remove(slot);
        closedIdle.remove(slot); // By what it is ordered by, so before that changes.
        slot.state = decision.next();
        if (slots.putIfAbsent(slot.state.name(), slot) == null) {
            names.add(slot);
        }
        deadlines.schedule(slot, batch.now);
        if (slot.isIdle()) {
            idle(slot, batch.now);
        }
        batch.changes.add(new CommandBatch.Change(decision.next(), decision.events(), batch.now));
        if (isDurable(decision.events())) {
            write(slot, decision.events(), batch.now);
            batch.written = true;
        }
    }

    private static boolean isDurable(List<LockEvent> events) {
        for (LockEvent event : events) {
            if (event.durable()) {
                return true;
            }
        }
        return false;
    }

    private void write(Slot slot, List<LockEvent> events, long now) {
        if (slot.recordId == 0) {
            slot.recordId =
                    records.add(bytes(EventCodec.entry(slot.state.name(), now, events)), at -> rebase(slot, at));
            slot.updates = 0;
        } else if (slot.isLong()) {
            rebase(slot, now);
        } else {
            slot.updates++;
            records.update(slot.recordId, slot.updates, bytes(EventCodec.entry(slot.state.name(), now, events)));
        }
    }

    /** Writes the lock's whole state as a new record in place of a long one. The newer record counts where both are found. */
    private void rebase(Slot slot, long now) {
        long old = slot.recordId;
        slot.recordId = records.add(bytes(EventCodec.entry(now, slot.state)), at -> rebase(slot, at));
        slot.updates = 0;
        records.delete(old);
    }

    /** On the disk before it is relied upon, whatever the durability: tokens rise also after a stop of the machine. */
    private void writeEpoch(long now) {
        log.syncToDisk();
        long old = epochRecordId;
        epochRecordId = records.add(
                Record.newBuilder()
                        .setEpoch(Epoch.newBuilder()
                                .setBaseToken(tokens.base())
                                .setReservedToken(tokens.reserved())
                                .setWrittenAtMillis(now)
                                .setForgottenUntilMillis(forgottenUntilMillis))
                        .build()
                        .toByteArray(),
                this::writeEpoch);
        if (old != 0) {
            records.delete(old);
        }
    }

    private static byte[] bytes(Entry entry) {
        return Record.newBuilder().setEntry(entry).build().toByteArray();
    }

    /** Whether the lock has to be remembered after this command, even if it is not in use. */
    private static boolean createsRecord(Command command) {
        return command instanceof Acquire || command instanceof Leave;
    }

    private Answer locksMaxReached() {
        return new Answer.Refused(Limits.exceeded(
                "locksMax",
                "locksMax is " + config.locksMax() + ", of all clients together, and " + slots.size()
                        + " are known; release some, or give the server a larger heap (-Xmx) or --locks-max"));
    }

    private Answer waitersMaxReached() {
        return new Answer.Refused(Limits.exceeded(
                "waitersMax", "waitersMax is " + config.waitersMax() + ", of all locks together; try again later"));
    }

    private static int waiters(LockState state) {
        return state.offers().size() + state.waiters().size();
    }

    // ---- forgetting ----

    /** When time alone has something to decide or to forget; {@link Long#MAX_VALUE} for never. */
    long nextDueMillis() {
        if (!recovered.isEmpty()) {
            return 0;
        }
        long windowEnd = recoveringUntilMillis == 0 ? Long.MAX_VALUE : recoveringUntilMillis;
        return Math.min(windowEnd, Math.min(deadlines.nextMillis(), nextForgettableMillis()));
    }

    private long nextForgettableMillis() {
        Iterator<Slot> oldest = unused.iterator();
        long next = oldest.hasNext() ? oldest.next().state.forgettableAtMillis() : Long.MAX_VALUE;
        return closedIdle.isEmpty()
                ? next
                : Math.min(next, closedIdle.first().state.closedUntilMillis());
    }

    private void idle(Slot slot, long now) {
        if (slot.state.closedUntilMillis() > now) {
            closedIdle.add(slot);
        } else {
            unused.add(slot);
        }
    }

    /** Drops locks whose last end no duplicate can ask about any more, and the oldest of too many. */
    void forget(CommandBatch batch) {
        long now = batch.now;
        long forgottenBefore = forgottenUntilMillis;
        while (!closedIdle.isEmpty() && closedIdle.first().state.closedUntilMillis() <= now) {
            unused.add(closedIdle.pollFirst());
        }
        int excess = unused.size() - config.unusedMax();
        for (Iterator<Slot> oldest = unused.iterator(); oldest.hasNext(); excess--) {
            Slot slot = oldest.next();
            boolean early = slot.state.forgettableAtMillis() > now;
            if (early && excess <= 0) {
                break;
            }
            if (early) {
                forgottenUntilMillis =
                        Math.max(forgottenUntilMillis, slot.state.forgettableAtMillis() - Limits.TOMBSTONE_MILLIS);
            }
            oldest.remove();
            slots.remove(slot.state.name());
            names.remove(slot);
            if (slot.recordId != 0) {
                records.delete(slot.recordId);
                batch.written = true;
            }
        }
        if (forgottenUntilMillis != forgottenBefore) {
            writeEpoch(now);
            batch.written = true;
        }
    }
}
