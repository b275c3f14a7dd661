package dev.palisade.server.store.embedded;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockMachine;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.embedded.format.Entry;
import dev.palisade.server.store.embedded.format.Epoch;
import dev.palisade.server.store.embedded.format.Record;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks in memory, events in a journal. One thread at a time takes whatever has come in while the last batch was synced, decides
 * all of it, writes what must last, syncs once, and only then answers: nothing is told that a {@code kill -9} can undo.
 */
public final class EmbeddedStore implements LockStore {
    private static final Logger LOG = LoggerFactory.getLogger(EmbeddedStore.class);
    /** The writer looks at the time this often in any case. */
    private static final long LOOK_MILLIS = 1_000;

    /** Looked at for all lists of one turn. */
    private static final int NAMES_PER_TURN = 10_000;

    private static final int NAMES_PER_LIST_MIN = 10;

    private final EmbeddedConfig config;
    private final Limits limits;
    private final Consumer<String> fatal;
    private final DataDirectory directory;
    private final Journal journal;
    private final StoreClock clock;
    private final TokenCounter tokens;
    private final Turns<Pending<?>> turns;
    private final long openedAtMillis;
    private volatile boolean closing;
    private volatile long closingAtMillis;
    private volatile boolean closed;
    private volatile @Nullable Listener listener;

    // Touched in turns only, once there are any.
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
    private int waiters;
    private long epochRecordId;
    private long forgottenUntilMillis;

    /** Something asked for, done in its turn and told when the turn is durable. */
    private record Pending<T>(Function<Turn, T> work, CompletableFuture<T> future) {
        Runnable doneIn(Turn turn) {
            T answer = work.apply(turn);
            return () -> future.complete(answer);
        }
    }

    private record Told(LockState state, List<LockEvent> events, long atMillis) {}

    /** What is done between two syncs. */
    private static final class Turn {
        final long now;
        final List<Told> told = new ArrayList<>();
        boolean written;
        int namesLookedAt;

        Turn(long now) {
            this.now = now;
        }

        /** However many lists come at once, everybody else waits for a few milliseconds; each list gets on a little. */
        int namesToLookAt() {
            return Math.max(NAMES_PER_LIST_MIN, NAMES_PER_TURN - namesLookedAt);
        }
    }

    /** Whether a store was once completely made in {@code directory}; says nothing of whether it is usable. */
    public static boolean isBegun(Path directory) {
        return DataDirectory.isMarked(directory);
    }

    /**
     * Opens the store: locks the directory, reads it back, and begins a new epoch of tokens, all durable on return.
     *
     * @param fatal ends the process with one line; called when something could not be made durable
     * @param epochId random
     * @throws StoreUnusable when the directory cannot be used; nothing in it was changed
     */
    public static EmbeddedStore open(
            EmbeddedConfig config,
            Limits limits,
            LongSupplier wallMillis,
            LongSupplier nanoTime,
            int epochId,
            Consumer<String> fatal)
            throws StoreUnusable {
        DataDirectory directory = DataDirectory.open(config.directory());
        try {
            return new EmbeddedStore(config, limits, wallMillis, nanoTime, epochId, fatal, directory);
        } catch (StoreUnusable | RuntimeException e) {
            directory.close();
            throw e;
        } catch (IOException e) {
            directory.close();
            throw new StoreUnusable(
                    "data directory " + config.directory() + " cannot be used (" + e
                            + "); check its owner and free space",
                    e);
        }
    }

    private EmbeddedStore(
            EmbeddedConfig config,
            Limits limits,
            LongSupplier wallMillis,
            LongSupplier nanoTime,
            int epochId,
            Consumer<String> fatal,
            DataDirectory directory)
            throws StoreUnusable, IOException {
        this.config = config;
        this.limits = limits;
        this.fatal = fatal;
        this.directory = directory;
        this.turns = new Turns<>(
                "palisade-store",
                config.queueMax(),
                config.durability() == Durability.PROCESS,
                LOOK_MILLIS,
                new Writer());
        if (directory.isMarked() && !directory.hasJournal()) {
            throw lostJournal();
        }
        this.journal = new Journal(directory.journal(), config.durability(), fatal);
        Restored restored = new Restored();
        try {
            journal.load(restored);
            restored.refuseIncomplete();
            if (restored.epochIds.isEmpty() && (directory.isMarked() || !restored.slots.isEmpty())) {
                throw lostJournal();
            }
        } catch (StoreUnusable e) {
            journal.close();
            throw e;
        }
        this.slots = restored.slots;
        this.history = new History(journal, config.historyMax());
        this.forgottenUntilMillis = restored.forgottenUntilMillis;
        this.clock = new StoreClock(wallMillis.getAsLong(), restored.lastMillis, nanoTime);
        this.openedAtMillis = clock.nowMillis();
        this.tokens = new TokenCounter(openedAtMillis, restored.highToken, epochId);
        restart(restored);
        if (!directory.isMarked()) {
            directory.mark();
        }
    }

    private StoreUnusable lostJournal() {
        return new StoreUnusable("data directory " + config.directory()
                + " has lost its journal; restore it from a copy (starting empty would forget who holds what)");
    }

    // ---- from any thread ----

    @Override
    public CompletionStage<Answer> execute(Command command) {
        return submit(turn -> answer(command, turn));
    }

    @Override
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        return submit(turn -> history.of(lock));
    }

    @Override
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        return submit(turn -> {
            Names.Walk walk = names.walk(prefix, after, locksMax, turn.namesToLookAt(), turn.now);
            turn.namesLookedAt += walk.lookedAt();
            return walk.page();
        });
    }

    @Override
    public void together(Runnable asks) {
        turns.together(asks);
    }

    private <T> CompletionStage<T> submit(Function<Turn, T> work) {
        CompletableFuture<T> future = new CompletableFuture<>();
        if (closing) {
            future.completeExceptionally(StoreFailure.unavailable("the lock server is stopping; try another or later"));
        } else if (!turns.ask(new Pending<>(work, future))) {
            future.completeExceptionally(StoreFailure.unavailable(
                    "the lock server is overloaded (queueMax is " + config.queueMax() + "); try later"));
        } else if (closed) {
            failLate(); // It came in between the last look at the queue and now.
        }
        return future;
    }

    @Override
    public long nowMillis() {
        return clock.nowMillis();
    }

    @Override
    public StoreStatus status() {
        long now = clock.nowMillis();
        return new StoreStatus(
                "embedded",
                config.directory().toAbsolutePath().normalize().toString(),
                "",
                !closing,
                closing ? closingAtMillis : openedAtMillis,
                closing ? "the lock server is stopping" : "",
                1,
                List.of(new StoreStatus.Epoch(
                        0, tokens.base(), openedAtMillis, "this server started", 0, tokens.aheadMillis(now))));
    }

    @Override
    public int domainOf(LockName lock) {
        return 0;
    }

    /** The base of the epoch that this start began. */
    public long epochBase() {
        return tokens.base();
    }

    @Override
    public void listen(Listener listener) {
        this.listener = listener;
        turns.start();
    }

    /** Decides what has come in, then stops. Not interruptible: the journal's writer must not be. */
    @Override
    public void close() {
        closingAtMillis = clock.nowMillis();
        closing = true;
        turns.stop();
        closed = true;
        failLate();
        journal.close();
        directory.close();
    }

    /** Whether {@link #close} has come to its end. */
    public boolean isClosed() {
        return closed;
    }

    private void failLate() {
        for (Pending<?> late = turns.withdraw(); late != null; late = turns.withdraw()) {
            late.future().completeExceptionally(StoreFailure.unavailable("the lock server stopped"));
        }
    }

    // ---- the writer ----

    private final class Writer implements Turns.Decider<Pending<?>> {
        @Override
        public long decide(List<Pending<?>> asked) {
            try {
                EmbeddedStore.this.decide(asked);
            } catch (RuntimeException | Error e) {
                // A half-decided batch must not be answered, and the state in memory is no longer the one on disk.
                fatal.accept("the store's writer failed: " + e);
                for (Pending<?> pending : asked) {
                    pending.future().completeExceptionally(StoreFailure.outcomeUnknown("the lock server stopped"));
                }
                throw e;
            }
            return Math.min(deadlines.nextMillis(), nextForgettableMillis());
        }

        @Override
        public long nowMillis() {
            return clock.nowMillis();
        }

        @Override
        public void failed(RuntimeException failure) {
            fatal.accept("the store's writer failed: " + failure);
        }
    }

    private void decide(List<Pending<?>> batch) {
        Turn turn = new Turn(clock.nowMillis());
        List<Runnable> answers = new ArrayList<>(batch.size());
        for (Slot slot = deadlines.poll(turn.now); slot != null; slot = deadlines.poll(turn.now)) {
            take(slot, step(slot, new Expire(slot.state.name()), turn.now), turn);
            deadlines.schedule(slot, turn.now);
        }
        for (Pending<?> pending : batch) {
            answers.add(pending.doneIn(turn));
        }
        turn.written |= forget(turn.now);
        if (turn.written) {
            journal.sync();
        }
        tell(answers, turn.told);
    }

    private Answer answer(Command command, Turn turn) {
        Slot slot = slots.get(command.lock());
        if (slot == null) {
            if (slots.size() >= config.locksMax() && makesKnown(command)) {
                return locksMaxReached();
            }
            slot = new Slot(LockState.unused(command.lock(), forgottenUntilMillis));
        }
        Decision decision = step(slot, command, turn.now);
        int more = waiters(decision.next()) - waiters(slot.state);
        if (command instanceof Acquire && more > 0 && waiters + more > config.waitersMax()) {
            return waitersMaxReached(); // A decision that nobody takes over never was.
        }
        take(slot, decision, turn);
        return decision.answer();
    }

    private Decision step(Slot slot, Command command, long now) {
        return LockMachine.step(slot.state, command, now, tokens.last(), limits);
    }

    /** Takes a decision over into memory and the journal's buffer. */
    private void take(Slot slot, Decision decision, Turn turn) {
        if (tokens.issued(decision.lastToken())) {
            writeEpoch(turn.now);
            turn.written = true;
        }
        if (decision.events().isEmpty()) {
            return; // A barrier takes a token and changes nothing else.
        }
        history.take(slot.state, decision, turn.now);
        waiters += waiters(decision.next()) - waiters(slot.state);
        unused.remove(slot);
        closedIdle.remove(slot); // By what it is ordered by, so before that changes.
        slot.state = decision.next();
        if (slots.putIfAbsent(slot.state.name(), slot) == null) {
            names.add(slot);
        }
        deadlines.schedule(slot, turn.now);
        if (slot.isIdle()) {
            idle(slot, turn.now);
        }
        turn.told.add(new Told(decision.next(), decision.events(), turn.now));
        if (mustLast(decision.events())) {
            write(slot, decision.events(), turn.now);
            turn.written = true;
        }
    }

    private static boolean mustLast(List<LockEvent> events) {
        for (LockEvent event : events) {
            if (event.durable()) {
                return true;
            }
        }
        return false;
    }

    private void write(Slot slot, List<LockEvent> events, long now) {
        if (slot.recordId == 0) {
            slot.recordId = journal.add(bytes(EventCodec.entry(slot.state.name(), now, events)));
            slot.updates = 0;
        } else if (slot.isLong()) {
            rebase(slot, now);
        } else {
            slot.updates++;
            journal.update(slot.recordId, slot.updates, bytes(EventCodec.entry(slot.state.name(), now, events)));
        }
    }

    /** Writes the lock's whole state as a new record in place of a long one. The newer record counts where both are found. */
    private void rebase(Slot slot, long now) {
        long old = slot.recordId;
        slot.recordId = journal.add(bytes(EventCodec.entry(now, slot.state)));
        slot.updates = 0;
        journal.delete(old);
    }

    /** On the disk before it is relied upon, whatever the durability: tokens rise also after a stop of the machine. */
    private void writeEpoch(long now) {
        journal.syncToDisk();
        long old = epochRecordId;
        epochRecordId = journal.add(Record.newBuilder()
                .setEpoch(Epoch.newBuilder()
                        .setBaseToken(tokens.base())
                        .setReservedToken(tokens.reserved())
                        .setWrittenAtMillis(now)
                        .setForgottenUntilMillis(forgottenUntilMillis))
                .build()
                .toByteArray());
        if (old != 0) {
            journal.delete(old);
        }
    }

    private static byte[] bytes(Entry entry) {
        return Record.newBuilder().setEntry(entry).build().toByteArray();
    }

    private void tell(List<Runnable> answers, List<Told> told) {
        answers.forEach(Runnable::run);
        Listener hears = listener;
        if (hears == null) {
            return;
        }
        for (Told change : told) {
            safely(() -> hears.changed(change.state(), change.events(), change.atMillis()));
        }
        if (!answers.isEmpty() || !told.isEmpty()) {
            safely(hears::told);
        }
    }

    /** What is durable stays so whatever a listener makes of it. */
    private static void safely(Runnable telling) {
        try {
            telling.run();
        } catch (RuntimeException e) {
            LOG.error("telling of a change failed", e);
        }
    }

    /** Whether a name that nobody uses has to be remembered after it. */
    private static boolean makesKnown(Command command) {
        return command instanceof Acquire || command instanceof Leave;
    }

    private Answer locksMaxReached() {
        return new Answer.Refused(new Rejection(
                Reason.LIMIT_EXCEEDED,
                "locksMax is " + config.locksMax() + "; use fewer names or try later",
                Map.of(Rejection.LIMIT, "locksMax")));
    }

    private Answer waitersMaxReached() {
        return new Answer.Refused(new Rejection(
                Reason.LIMIT_EXCEEDED,
                "waitersMax is " + config.waitersMax() + ", of all locks together; try again later",
                Map.of(Rejection.LIMIT, "waitersMax")));
    }

    private static int waiters(LockState state) {
        return state.offers().size() + state.waiters().size();
    }

    // ---- forgetting ----

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
    private boolean forget(long now) {
        boolean written = false;
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
                journal.delete(slot.recordId);
                written = true;
            }
        }
        if (forgottenUntilMillis != forgottenBefore) {
            writeEpoch(now);
            written = true;
        }
        return written;
    }

    // ---- starting ----

    private void restart(Restored restored) {
        long now = clock.nowMillis();
        writeEpoch(now);
        restored.epochIds.forEach(journal::delete);
        restored.superseded.forEach(journal::delete);
        history.restore(restored.forced, slots);
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
        journal.sync();
    }
}
