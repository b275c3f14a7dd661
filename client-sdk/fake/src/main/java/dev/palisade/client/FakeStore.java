package dev.palisade.client;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryRecorder;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockMachine;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.store.LockStore;
import io.grpc.SynchronizationContext;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A fake lock store: the real lock machine over a map in memory. Commands are decided in {@link #drain}, after the
 * caller has attached its handler of the answer. It drops no record. Safe for use by many threads.
 */
final class FakeStore implements LockStore {
    private static final System.Logger LOG = System.getLogger(FakeStore.class.getName());
    /** 2024-01-01T00:00Z, as in all stores. */
    private static final long ERA_MILLIS = 1_704_067_200_000L;

    private final ManualTime time;
    private final Map<String, LockState> locks = new TreeMap<>();
    private final Map<LockName, List<HistoryEntry>> histories =
            new TreeMap<>((a, b) -> a.value().compareTo(b.value()));
    private final SynchronizationContext writer = new SynchronizationContext(
            (thread, failure) -> LOG.log(Level.ERROR, "the fake's store met a bug", failure));
    private final long startedAtMillis;
    private long baseToken;
    private long lastToken;

    @Nullable
    private Listener listener;

    private TimerQueue.@Nullable ScheduledTask deadline;
    private boolean closed;

    FakeStore(ManualTime time) {
        this.time = time;
        this.startedAtMillis = time.wallMillis();
        beginEpoch(0);
    }

    /** @param high the last token issued before */
    private void beginEpoch(long high) {
        baseToken = LockMachine.epochBase(startedAtMillis - ERA_MILLIS, high, 0);
        lastToken = baseToken;
    }

    /** The store of a restarted server, as after a kill: leases lose no time, and tokens are above all earlier ones. */
    FakeStore restarted() {
        FakeStore next = new FakeStore(time);
        long now = time.wallMillis();
        next.beginEpoch(lastToken);
        locks.forEach((name, state) -> next.locks.put(name, state.restarted(now)));
        next.schedule();
        return next;
    }

    /** Decides the queued commands, unless this or another thread already does. */
    void drain() {
        writer.drain();
    }

    @Override
    public CompletionStage<Answer> execute(Command command) {
        return later(() -> {
            Decision decision = decide(state(command.lock()), command);
            return new StepResult<>(decision.answer(), List.of(decision));
        });
    }

    /** Expires the leases of {@code lock} now. */
    void expire(LockName lock) {
        var unused = later(() -> {
            LockState known = state(lock);
            long now = nowMillis();
            List<Grant> ended = known.holders().stream()
                    .map(held -> new Grant(held.request(), held.token(), held.grantedAtMillis(), now))
                    .toList();
            LockState over = new LockState(
                    lock,
                    ended,
                    known.offers(),
                    known.waiters(),
                    known.tombstones(),
                    known.lockDelayUntilMillis(),
                    known.minimumHoldUntilMillis(),
                    known.forgottenUntilMillis());
            return new StepResult<>(ended.size(), List.of(decide(over, new Expire(lock))));
        });
    }

    @Override
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        return later(() -> {
            List<HistoryEntry> all = histories.getOrDefault(lock, List.of());
            return new StepResult<>(
                    List.copyOf(all.subList(Math.max(0, all.size() - HistoryEntry.LISTED_MAX), all.size())), List.of());
        });
    }

    @Override
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        return later(() -> {
            List<LockState> found = locks.values().stream()
                    .filter(state -> state.name().value().startsWith(prefix)
                            && state.name().value().compareTo(after) > 0
                            && state.inUse(nowMillis()))
                    .limit(locksMax)
                    .toList();
            String next = found.size() < locksMax
                    ? ""
                    : found.get(found.size() - 1).name().value();
            return new StepResult<>(new LockPage(found, next, nowMillis()), List.of());
        });
    }

    @Override
    public long nowMillis() {
        return time.wallMillis();
    }

    @Override
    public boolean isRecovering() {
        return false;
    }

    @Override
    public StoreStatus status() {
        return new StoreStatus(
                "fake",
                "memory",
                true,
                startedAtMillis,
                "",
                Optional.of(new StoreStatus.Epoch(baseToken, startedAtMillis, "this fake started", 0, 0)));
    }

    @Override
    public void listen(Listener newListener) {
        listener = newListener;
    }

    @Override
    public void close() {
        writer.execute(() -> {
            closed = true;
            time.cancel(deadline);
        });
    }

    // ---- steps of the writer

    private record StepResult<T>(T answer, List<Decision> decisions) {}

    private <T> CompletionStage<T> later(Supplier<StepResult<T>> work) {
        CompletableFuture<T> future = new CompletableFuture<>();
        writer.executeLater(() -> {
            if (closed) {
                return; // A killed server sends no reply.
            }
            StepResult<T> result = work.get();
            schedule();
            future.complete(result.answer());
            notifyListener(result.decisions());
        });
        return future;
    }

    private LockState state(LockName lock) {
        LockState known = locks.get(lock.value());
        return known == null ? LockState.unused(lock, 0) : known;
    }

    private Decision decide(LockState state, Command command) {
        Decision decision = LockMachine.step(state, command, nowMillis(), lastToken, Limits.DEFAULTS);
        lastToken = decision.lastToken();
        if (!decision.events().isEmpty()) {
            locks.put(state.name().value(), decision.next());
            HistoryRecorder.record(
                    state,
                    decision,
                    nowMillis(),
                    (lock, entry) -> histories
                            .computeIfAbsent(lock, any -> new ArrayList<>())
                            .add(entry));
        }
        return decision;
    }

    private void notifyListener(List<Decision> decisions) {
        Listener target = listener;
        if (target != null) {
            decisions.forEach(decision -> target.changed(decision.next(), decision.events(), nowMillis()));
            target.told();
        }
    }

    /** Schedules the next deadline of a lock. */
    private void schedule() {
        long now = nowMillis();
        long next = locks.values().stream()
                .mapToLong(state -> state.nextDeadlineMillis(now))
                .min()
                .orElse(Long.MAX_VALUE);
        time.cancel(deadline);
        deadline =
                next == Long.MAX_VALUE ? null : time.scheduleAtWallMillis(next, () -> writer.execute(this::passTime));
    }

    private void passTime() {
        if (closed) {
            return;
        }
        // Compares with the time just before: a deadline that is due now is not the next deadline any more.
        List<LockState> due = locks.values().stream()
                .filter(state -> state.nextDeadlineMillis(nowMillis() - 1) <= nowMillis())
                .toList();
        List<Decision> decisions = new ArrayList<>();
        due.forEach(state -> decisions.add(decide(state, new Expire(state.name()))));
        schedule();
        notifyListener(decisions);
    }
}
