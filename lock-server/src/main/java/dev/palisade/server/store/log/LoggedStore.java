package dev.palisade.server.store.log;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.OwnershipMachine;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.StoreUnusable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks in memory, events in a log. One thread at a time takes whatever has come in while the last batch was synced, decides
 * all of it, writes what must last, syncs once, and only then answers: nothing is told that a {@code kill -9} can undo.
 *
 * <p>Over a log that several lock servers share, it decides only while this server owns the log, and syncs every batch, also one
 * that wrote nothing: each reply proves that the log was this server's after the request arrived.
 */
public final class LoggedStore implements LockStore {
    private static final String MAYBE_LOST = "the log may have lost data";

    private static final Logger LOG = LoggerFactory.getLogger(LoggedStore.class);
    /** Fewer requests are no second batch in flight: each batch costs clients, server and log something. */
    private static final int SECOND_MIN = 8;
    /** The writer looks at the time this often in any case. */
    private static final long LOOK_MILLIS = 1_000;

    private final LoggedStoreConfig config;
    private final Limits limits;
    private final FencedLog log;
    private final boolean wherever;
    private final LongSupplier nanoTime;
    private final long openedNanos;
    private final IntSupplier epochIds;
    private final Consumer<String> fatal;
    private final CombiningExecutor<Pending<?>> executor;
    private final @Nullable LogOwner owner;
    private final long storeTimeoutMillis;
    private volatile StoreClock clock;
    private volatile long sinceMillis;
    private volatile int restoredLocks;
    private volatile String epochWhy = "";
    /** Whether a claim found that the log may have lost data, and no epoch began since. A later claim may find the log whole again. */
    private boolean mayHaveLostTokens;
    /** Why no command is decided; null while they are. */
    private volatile @Nullable StoreFailure refusal;

    private volatile boolean closing;
    private volatile boolean closed;
    private volatile @Nullable Listener listener;

    /** Touched in turns only, once there are any, but for its counters. Null while the log is another's. */
    private volatile @Nullable LockTable table;
    /** Of the batches whose sync is not acknowledged, the oldest first. Touched in turns only. */
    private final List<SyncedResults> synced = new ArrayList<>();
    /** Grants and offers that their clients do not know of; the next batch undoes them. Touched in turns only. */
    private final Map<GrantId, LockRequest> takenBack = new LinkedHashMap<>();
    /** How much was asked in the batch that was sent last. */
    private volatile int sentSize;

    /** The largest token that this process knew when its memory was dropped. Touched in turns only. */
    private long issuedBefore;

    /** What was left of the recovery window of a log that lost data again: it does not know of that window. */
    private long keptRecoveringMillis;

    /** Why the log refuses records, so that only commands run that free locks. */
    private volatile @Nullable String recordRefusal;
    /** Records of the log that were read, ahead of a takeover or for one. */
    private Restored loaded = new Restored();

    /** Something asked for, done in its turn and told when the turn is durable. */
    private record Pending<T>(BiFunction<LockTable, CommandBatch, T> work, CompletableFuture<T> future) {
        SyncedResults.Reply<T> doneIn(LockTable locks, CommandBatch batch) {
            return new SyncedResults.Reply<>(future, work.apply(locks, batch));
        }
    }

    /**
     * Opens a store over a log that no other process can write: reads it back, and begins a new epoch of tokens, all durable on return.
     *
     * @param log of this store alone; closed with it, also when this fails
     * @param wherever whether a sync does not block, so that any thread may decide
     * @param epochId random
     * @param fatal ends the process with one line; called when something could not be made durable
     * @throws StoreUnusable when the log cannot be used; nothing in it was changed
     */
    public static LoggedStore open(
            LoggedStoreConfig config,
            Limits limits,
            FencedLog log,
            boolean wherever,
            LongSupplier nanoTime,
            int epochId,
            Consumer<String> fatal)
            throws StoreUnusable {
        boolean opened = false;
        try {
            LoggedStore store = new LoggedStore(config, limits, log, wherever, null, nanoTime, () -> epochId, fatal);
            if (log.claim(Past.NONE) instanceof ClaimReply.Claimed claimed) {
                store.load(claimed);
                log.sync(0);
            }
            opened = true;
            return store;
        } catch (LogFailure e) {
            throw new IllegalStateException("a log of one server is always granted", e);
        } finally {
            if (!opened) {
                log.close();
            }
        }
    }

    /**
     * Opens a store over a log that other lock servers may claim as well. It begins as a standby, and claims the log once it is
     * listened to.
     *
     * @param log closed with the store
     * @param settings of the ownership
     * @param epochIds random
     * @param fatal ends the process with one line; called when the store's writer failed
     */
    public static LoggedStore share(
            LoggedStoreConfig config,
            Limits limits,
            FencedLog log,
            OwnershipMachine.Settings settings,
            LongSupplier nanoTime,
            IntSupplier epochIds,
            Consumer<String> fatal) {
        return new LoggedStore(config, limits, log, false, settings, nanoTime, epochIds, fatal);
    }

    private LoggedStore(
            LoggedStoreConfig config,
            Limits limits,
            FencedLog log,
            boolean wherever,
            OwnershipMachine.@Nullable Settings settings,
            LongSupplier nanoTime,
            IntSupplier epochIds,
            Consumer<String> fatal) {
        this.config = config;
        this.limits = limits;
        this.log = log;
        this.nanoTime = nanoTime;
        this.openedNanos = nanoTime.getAsLong();
        this.epochIds = epochIds;
        this.fatal = fatal;
        this.wherever = wherever;
        this.executor = new CombiningExecutor<>("palisade-store", config.queueMax(), LOOK_MILLIS, new Writer());
        this.clock = new StoreClock(0, 0, nanoTime);
        this.storeTimeoutMillis = settings == null ? 0 : settings.storeTimeoutMillis();
        this.owner = settings == null
                ? null
                : new LogOwner(
                        log,
                        new OwnershipMachine(settings),
                        settings.claimMillis(),
                        this::monotonicMillis,
                        new Tenure());
        this.refusal = settings == null ? null : notActive("it has not claimed the log yet", "", false);
    }

    private long monotonicMillis() {
        return Math.floorDiv(nanoTime.getAsLong(), 1_000_000L);
    }

    /** Reads the log into a new table, and begins an epoch of tokens there. Returns the largest token that counts. */
    private long load(ClaimReply.Claimed claimed) throws StoreUnusable, LogFailure {
        log.loadRest(this::newLoader);
        Restored restored = loaded;
        loaded = new Restored();
        boolean lacksEpoch = restored.epochIds.isEmpty() && (log.isBegun() || !restored.slots.isEmpty());
        if (!log.isShared()) {
            restored.refuseIncomplete();
        }
        // A recovery window covers what is missing of a shared log that lost data.
        if ((claimed.whole() || !log.isShared()) && (lacksEpoch || restored.isIncomplete())) {
            log.damaged();
        }
        restored.dropIncomplete();
        clock = new StoreClock(Math.max(claimed.nowMillis(), clock.nowMillis()), restored.lastMillis, nanoTime);
        long now = clock.nowMillis();
        restoredLocks = restored.slots.size();
        epochWhy = !log.isShared() ? "this server started" : claimed.whole() ? "this server took over" : MAYBE_LOST;
        mayHaveLostTokens = false;
        long high = Math.max(restored.highToken, log.isShared() ? restored.highestGranted() : 0);
        TokenCounter tokens =
                log.isShared() ? sharedEpoch(claimed, high) : new TokenCounter(true, now, high, epochIds.getAsInt());
        table = new LockTable(config, limits, log, restored, tokens, now);
        sinceMillis = now;
        return tokens.last();
    }

    private Restored newLoader() {
        loaded = owner == null ? new Restored() : new Restored(owner::keepClaim);
        return loaded;
    }

    /**
     * An epoch above all tokens that the log or this process know. By the log's clock and not by this store's, which never goes back: it
     * may have followed a log whose clock was wrong for a while, and another server would not know of that.
     */
    private TokenCounter sharedEpoch(ClaimReply.Claimed claimed, long high) {
        LockTable before = table;
        long known = Math.max(issuedBefore, before == null ? 0 : before.tokens().lastKnown());
        long above = Math.max(Math.max(high, known), claimed.tokens());
        return new TokenCounter(false, claimed.nowMillis(), above, epochIds.getAsInt());
    }

    /** Locks that the log had when it was read. */
    public int restoredLocks() {
        return restoredLocks;
    }

    // ---- from any thread ----

    @Override
    public CompletionStage<Answer> execute(Command command) {
        return submit((locks, batch) -> answer(locks, command, batch));
    }

    @Override
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        return submit((locks, batch) -> locks.history(lock));
    }

    @Override
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        return submit((locks, batch) -> locks.list(prefix, after, locksMax, batch));
    }

    @Override
    public void together(Runnable asks) {
        executor.together(asks);
    }

    private <T> CompletionStage<T> submit(BiFunction<LockTable, CommandBatch, T> work) {
        CompletableFuture<T> future = new CompletableFuture<>();
        StoreFailure refused = refusal;
        if (closing) {
            future.completeExceptionally(stopping());
        } else if (refused != null) {
            future.completeExceptionally(refused);
        } else if (!executor.ask(new Pending<>(work, future))) {
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
    public Optional<StoreFailure> standby() {
        StoreFailure refused = refusal;
        return refused != null && refused.kind() == StoreFailure.Kind.NOT_ACTIVE
                ? Optional.of(refused)
                : Optional.empty();
    }

    @Override
    public boolean mayLosePast() {
        return log.isShared();
    }

    @Override
    public boolean isRecovering() {
        LockTable locks = table;
        return locks != null && locks.recoveringMillis(clock.nowMillis()) > 0;
    }

    @Override
    public StoreStatus status() {
        long now = clock.nowMillis();
        StoreFailure refused = refusal;
        String noRecords = recordRefusal;
        String why = closing
                ? "the lock server is stopping"
                : refused != null ? refused.getMessage() : noRecords != null ? onlyFreed(noRecords) : "";
        LockTable locks = table;
        Optional<StoreStatus.SharedLog> shared = log.status();
        return new StoreStatus(
                log.kind(),
                log.where(),
                refused == null && noRecords == null && !closing,
                since(shared),
                String.valueOf(why),
                Optional.ofNullable(locks).map(present -> epoch(present, now)),
                shared,
                !closing
                        && standby()
                                .filter(one -> !one.activeAddress().isEmpty())
                                .isPresent());
    }

    /** A server that has never owned the log has no time of its own; 0 when it does not know the log's either. */
    private long since(Optional<StoreStatus.SharedLog> shared) {
        long known = sinceMillis;
        return known != 0
                ? known
                : shared.map(log -> log.nowMillis() - (nanoTime.getAsLong() - openedNanos) / 1_000_000)
                        .orElse(0L);
    }

    private StoreStatus.Epoch epoch(LockTable locks, long now) {
        TokenCounter tokens = locks.tokens();
        return new StoreStatus.Epoch(
                tokens.base(), tokens.beganAtMillis(), epochWhy, locks.recoveringMillis(now), tokens.aheadMillis(now));
    }

    /** The base of the epoch that this server began; 0 for a standby. */
    public long epochBase() {
        LockTable locks = table;
        return locks == null ? 0 : locks.tokens().base();
    }

    @Override
    public void listen(Listener listener) {
        this.listener = listener;
        executor.start();
    }

    /** Hears of changes as with {@link #listen}; commands are decided by {@link #takeTurn} only. */
    void listenInTurns(Listener hears) {
        this.listener = hears;
    }

    /** Whether a batch is in flight whose outcome has not arrived. */
    boolean awaitsOutcome() {
        return owner != null && owner.isWaiting() && !owner.isReplied();
    }

    /** Decides what has come in and what is due, on this thread. */
    void takeTurn() {
        executor.ownTurn();
    }

    /** Decides what has come in, then stops. Not interruptible: the log's writer must not be. */
    @Override
    public void close() {
        sinceMillis = clock.nowMillis();
        closing = true;
        executor.stop();
        if (owner != null) {
            owner.stop();
        }
        closed = true;
        forget("the lock server stopped");
        failLate();
        log.close();
    }

    /** Whether {@link #close} has come to its end. */
    public boolean isClosed() {
        return closed;
    }

    private void failLate() {
        for (Pending<?> late = executor.withdraw(); late != null; late = executor.withdraw()) {
            late.future().completeExceptionally(StoreFailure.unavailable("the lock server stopped"));
        }
    }

    // ---- the writer ----

    private final class Writer implements CombiningExecutor.BatchProcessor<Pending<?>> {
        @Override
        public long decide(List<Pending<?>> asked) {
            try {
                LoggedStore.this.decide(asked);
            } catch (RuntimeException | Error e) {
                // A half-decided batch must not be answered, and the state in memory is no longer the one in the log.
                fatal.accept("the store's writer failed: " + e);
                for (Pending<?> pending : asked) {
                    pending.future().completeExceptionally(StoreFailure.outcomeUnknown("the lock server stopped"));
                }
                throw e;
            }
            return nextDueMillis();
        }

        @Override
        public boolean mayBlock() {
            return owner == null ? !wherever : !owner.onlySends();
        }

        @Override
        public boolean isWaiting() {
            return owner != null && owner.isWaiting();
        }

        @Override
        public boolean isFull(int asked) {
            // A smaller batch costs the log as much as a larger one, and would be followed by one still smaller.
            return owner != null && (owner.isFull() || (owner.isWaiting() && asked < Math.max(sentSize, SECOND_MIN)));
        }

        @Override
        public boolean isReplied() {
            return owner != null && owner.isReplied();
        }

        @Override
        public long nowMillis() {
            return monotonicMillis();
        }

        @Override
        public void failed(RuntimeException failure) {
            fatal.accept("the store's writer failed: " + failure);
        }
    }

    private long nextDueMillis() {
        if (owner != null && owner.isWaiting()) {
            return Long.MAX_VALUE; // The thread of the reply decides what is due.
        }
        LockTable locks = table;
        if (!takenBack.isEmpty() && refusal == null) {
            return monotonicMillis();
        }
        long due = locks == null || refusal != null ? Long.MAX_VALUE : locks.nextDueMillis();
        if (due != Long.MAX_VALUE) {
            due += monotonicMillis() - clock.nowMillis();
        }
        if (owner != null) {
            due = Math.min(due, owner.nextDueMillis());
        }
        for (SyncedResults waiting : synced) {
            due = Math.min(due, waiting.dueMillis());
        }
        return due;
    }

    private void decide(List<Pending<?>> asked) {
        if (owner != null && asked.isEmpty() && owner.isWaiting()) { // Time alone sends no second batch.
            if (owner.isReplied()) {
                owner.receive(); // What was asked meanwhile is a batch of its own.
            }
            return;
        }
        boolean ready = owner == null || owner.isReady();
        LockTable locks = table;
        if (!ready || locks == null) {
            refuse(asked);
            return;
        }
        CommandBatch batch = new CommandBatch(clock.nowMillis());
        List<SyncedResults.Reply<?>> answers = new ArrayList<>(asked.size());
        takenBack.values().forEach(request -> locks.takeBack(request, batch));
        takenBack.clear();
        locks.expire(batch);
        for (Pending<?> pending : asked) {
            answers.add(pending.doneIn(locks, batch));
        }
        locks.forget(batch);
        if (owner != null) {
            if (!asked.isEmpty() || batch.written || !batch.changes.isEmpty() || owner.isIdle()) {
                synced.add(new SyncedResults(
                        answers,
                        batch.changes,
                        monotonicMillis() + storeTimeoutMillis,
                        locks.tokens().base()));
                sentSize = asked.size();
                locks.compact(batch.now, recordRefusal == null);
                owner.send(locks.tokens().last(), executor::replied);
            }
            return;
        }
        if (batch.written) {
            locks.compact(batch.now, true);
            syncAlone();
        }
        tell(answers, batch.changes);
    }

    private void syncAlone() {
        try {
            log.sync(0);
        } catch (LogFailure e) {
            throw new IllegalStateException("a log of one server either syncs or ends the process", e);
        }
    }

    private Answer answer(LockTable locks, Command command, CommandBatch batch) {
        String noRecords = recordRefusal;
        if (noRecords != null && !isServedWhenFull(command)) {
            return new Answer.Refused(new Rejection(
                    Reason.STORE_UNAVAILABLE,
                    onlyFreed(noRecords) + "; try again later",
                    Map.of(Rejection.APPLIED, "no")));
        }
        return locks.answer(command, batch);
    }

    private static String onlyFreed(String why) {
        return "the log refuses records, so locks are only freed (" + why + ")";
    }

    /**
     * Frees locks, or only reads. What a server frees for a stream that broke is not among it: the client may be back, and nothing can
     * restore its leases meanwhile.
     */
    private static boolean isServedWhenFull(Command command) {
        return command instanceof Release
                || command instanceof ForceRelease
                || (command instanceof Leave leave && leave.isByClient())
                || command instanceof Describe
                || command instanceof CheckSequencer;
    }

    private void refuse(List<Pending<?>> asked) {
        StoreFailure refused = refusal;
        for (Pending<?> pending : asked) {
            pending.future()
                    .completeExceptionally(refused != null ? refused : StoreFailure.unavailable("try again later"));
        }
        synced.replaceAll(waiting -> {
            if (monotonicMillis() < waiting.dueMillis()) {
                return waiting;
            }
            waiting.outcomeUnknown("the log did not acknowledge the batch within " + storeTimeoutMillis + " ms");
            return waiting.changesOnly();
        });
    }

    private static StoreFailure stopping() {
        return StoreFailure.unavailable("the lock server is stopping; try another or later");
    }

    private static StoreFailure notActive(String why, String activeAddress, boolean isTakeover) {
        return StoreFailure.notActive("this lock server is a standby: " + why, activeAddress, isTakeover);
    }

    /** @param why null: commands are decided from now on */
    private void refuses(@Nullable StoreFailure why) {
        StoreFailure before = refusal;
        refusal = why;
        Listener hears = listener;
        if (hears != null && before != null && before.isTakeover() && (why == null || !why.isTakeover())) {
            safely(hears::takeoverEnded);
        }
    }

    /** What this server does while it owns the log, and when it does no more. */
    private final class Tenure implements LogOwner.Duties {
        @Override
        public long load(ClaimReply.Claimed claimed) throws StoreUnusable, LogFailure {
            if (standby().isPresent()) { // One that reads its own log again has sessions.
                refuses(notActive("it reads the log to take over", "", true));
            }
            forget("the log did not take the batch");
            return LoggedStore.this.load(claimed);
        }

        @Override
        public long copy(ClaimReply.Claimed claimed, Records.Part part) throws LogFailure {
            LockTable locks = Objects.requireNonNull(table, "keeping no memory");
            keptRecoveringMillis = Math.max(keptRecoveringMillis, locks.recoveringMillis(clock.nowMillis()));
            clock = new StoreClock(Math.max(claimed.nowMillis(), clock.nowMillis()), 0, nanoTime);
            epochWhy = "the log lost data, and this server wrote its memory back";
            mayHaveLostTokens = false;
            locks.copy(sharedEpoch(claimed, 0), clock.nowMillis(), part);
            return locks.tokens().last();
        }

        @Override
        public void serve(ClaimReply.Claimed claimed, @Nullable String noRecords) {
            LockTable locks = Objects.requireNonNull(table, "serving without memory");
            recordRefusal = noRecords;
            clock = new StoreClock(Math.max(claimed.nowMillis(), clock.nowMillis()), 0, nanoTime);
            locks.tokens().counted(claimed.tokens());
            sinceMillis = clock.nowMillis();
            beginEpochAfterLoss(claimed);
            long kept = keptRecoveringMillis == 0 ? 0 : sinceMillis + keptRecoveringMillis;
            keptRecoveringMillis = 0;
            locks.resume(sinceMillis, Math.max(claimed.recoveringUntilMillis(), kept));
            refuses(null);
        }

        @Override
        public void claimed(ClaimReply.Claimed claimed) {
            mayHaveLostTokens |= !claimed.whole();
        }

        /** Begins an epoch of tokens if another server may have issued tokens elsewhere. */
        private void beginEpochAfterLoss(ClaimReply.Claimed claimed) {
            if (mayHaveLostTokens) {
                mayHaveLostTokens = false;
                epochWhy = MAYBE_LOST;
                Objects.requireNonNull(table, "an epoch without memory")
                        .begin(sharedEpoch(claimed, 0), Math.max(claimed.nowMillis(), clock.nowMillis()));
            }
        }

        @Override
        public FencedLog.Loader newLoader() {
            return LoggedStore.this.newLoader();
        }

        @Override
        public void suspend(String why) {
            if (refusal == null) {
                sinceMillis = clock.nowMillis();
            }
            // A standby has served no client: it admits no session before it is active.
            refuses(standby().isPresent() ? notActive(why, "", false) : StoreFailure.unavailable(why));
        }

        @Override
        public void acknowledge(ClaimReply.Claimed claimed) {
            beginEpochAfterLoss(claimed);
            SyncedResults stored = synced.remove(0);
            // Before these were requested, other clients may have got larger tokens.
            if (stored.epochBase() != epochBase()) {
                stored.eachIssued((lock, grant) -> takenBack.put(
                        grant.id(), new LockRequest(lock, grant.request().id())));
                stored = stored.without(
                        grant -> takenBack.containsKey(grant.id()),
                        "the log lost data, so its token would be out of order; ask again");
            }
            tell(stored.replies(), stored.changes());
        }

        @Override
        public void standBy(String why, String activeAddress, boolean isTakeover) {
            refuses(notActive(why, activeAddress, isTakeover));
            dropTable(); // Of a takeover that failed: what is read ahead is not held twice.
        }

        @Override
        public void drop(String why, String activeAddress) {
            StoreFailure refused = notActive(why, activeAddress, false);
            refuses(refused);
            sinceMillis = clock.nowMillis();
            dropTable();
            keptRecoveringMillis = 0;
            forget("this lock server lost the log (" + why + ")");
            Listener hears = listener;
            if (hears != null) {
                safely(() -> hears.deposed(refused));
            }
        }
    }

    private void dropTable() {
        LockTable dropped = table;
        if (dropped != null) {
            issuedBefore = Math.max(issuedBefore, dropped.tokens().lastKnown());
            table = null;
        }
    }

    private void forget(String why) {
        synced.forEach(each -> each.outcomeUnknown(why));
        synced.clear();
        takenBack.clear();
    }

    private void tell(List<SyncedResults.Reply<?>> answers, List<CommandBatch.Change> changes) {
        answers.forEach(SyncedResults.Reply::complete);
        Listener hears = listener;
        if (hears == null) {
            return;
        }
        for (CommandBatch.Change change : changes) {
            safely(() -> hears.changed(change.state(), change.events(), change.atMillis()));
        }
        if (!answers.isEmpty() || !changes.isEmpty()) {
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
}
