package dev.palisade.server.store;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockMachine;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.StoreStatus;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The real lock machine over a map that can lose what is in it, as a store of several servers can. Time stands still unless the
 * test moves it.
 */
public final class MemoryStore implements LockStore {
    public static final long START = 1_800_000_000_000L;

    private final Map<LockName, LockState> locks = new HashMap<>();
    private final List<Command> asked = new ArrayList<>();
    private long now = START;
    private long recoveringUntil;
    private long beganAt = START;
    private long baseToken;
    private long lastToken;
    private @Nullable Reason refusesWith;
    private final Deque<Runnable> heldAnswers = new ArrayDeque<>();
    private boolean holdsAnswers;
    private boolean full;
    private @Nullable StoreFailure down;
    private @Nullable StoreFailure downAfterNext;
    private volatile @Nullable StoreFailure standby;
    private @Nullable Class<? extends Command> beforeKind;
    private Runnable before = () -> {};
    private @Nullable Listener listener;

    /** All is gone, and a new epoch begins: for so long nobody is granted anything new. */
    public synchronized void losesAll(long recoversForMillis) {
        locks.clear();
        lastToken += 1_000;
        baseToken = lastToken;
        beganAt = now;
        recoveringUntil = now + recoversForMillis;
    }

    /** Is one of several lock servers' and rejects sessions, as a standby's; with null, it is active. A takeover ends by that. */
    public void standsBy(@Nullable StoreFailure why) {
        standby = why;
        Listener hears = listener;
        if (hears != null) {
            if (why != null && !why.isTakeover()) {
                hears.deposed(why);
            }
            hears.takeoverEnded();
        }
    }

    @Override
    public Optional<StoreFailure> standby() {
        return Optional.ofNullable(standby);
    }

    /** Answers everything with this reason; with null, decides again. */
    public synchronized void refusesWith(@Nullable Reason reason) {
        refusesWith = reason;
    }

    /** Refuses all but descriptions, and is not up. */
    public synchronized void full(boolean isFull) {
        full = isFull;
    }

    /** Fails everything with this; with null, decides again. */
    public synchronized void fails(@Nullable StoreFailure failure) {
        down = failure;
    }

    /** As {@link #fails}, once it has decided one more. */
    public synchronized void failsAfterNext(StoreFailure failure) {
        downAfterNext = failure;
    }

    /** Runs this once, just before the next command of that kind. */
    public synchronized void before(Class<? extends Command> kind, Runnable task) {
        beforeKind = kind;
        before = task;
    }

    /** From now on answers wait for {@link #answers}. */
    public synchronized void holdsAnswers() {
        holdsAnswers = true;
    }

    /** Gives the oldest answers that are held. */
    public void answers(int count) {
        for (int i = 0; i < count; i++) {
            Runnable answer;
            synchronized (this) {
                answer = heldAnswers.remove();
            }
            answer.run();
            Listener hears = listener;
            if (hears != null) {
                hears.told();
            }
        }
    }

    public synchronized void passes(long millis) {
        now += millis;
        List.copyOf(locks.keySet()).forEach(lock -> tell(decide(new Expire(lock))));
    }

    public synchronized List<Command> asked() {
        return List.copyOf(asked);
    }

    @Override
    public synchronized CompletionStage<Answer> execute(Command command) {
        if (beforeKind == command.getClass()) {
            beforeKind = null;
            before.run();
        }
        asked.add(command);
        if (downAfterNext != null && down == null) {
            down = downAfterNext;
            downAfterNext = null;
        } else if (down != null) {
            return CompletableFuture.failedFuture(down);
        }
        if (full && !(command instanceof Describe)) {
            return CompletableFuture.completedFuture(
                    new Answer.Refused(new Rejection(Reason.STORE_UNAVAILABLE, "it is full")));
        }
        if (refusesWith != null) {
            return CompletableFuture.completedFuture(
                    new Answer.Refused(new Rejection(refusesWith, "as the test wants")));
        }
        Decision decision = decide(command);
        tell(decision);
        if (!holdsAnswers) {
            return CompletableFuture.completedFuture(decision.answer());
        }
        CompletableFuture<Answer> held = new CompletableFuture<>();
        heldAnswers.add(() -> held.complete(decision.answer()));
        return held;
    }

    private Decision decide(Command command) {
        LockState state = locks.getOrDefault(command.lock(), LockState.unused(command.lock(), 0));
        Decision decision = LockMachine.step(state, command, now, lastToken, recoveringUntil, Limits.DEFAULTS);
        lastToken = decision.lastToken();
        locks.put(command.lock(), decision.next());
        return decision;
    }

    private void tell(Decision decision) {
        Listener hears = listener;
        if (hears != null && !decision.events().isEmpty()) {
            hears.changed(decision.next(), decision.events(), now);
            hears.told();
        }
    }

    @Override
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        return CompletableFuture.completedFuture(new LockPage(List.of(), "", nowMillis()));
    }

    @Override
    public synchronized long nowMillis() {
        return now;
    }

    @Override
    public synchronized boolean isRecovering() {
        return recoveringUntil > now;
    }

    @Override
    public synchronized StoreStatus status() {
        return new StoreStatus(
                "memory",
                "here",
                down == null && !full,
                START,
                down == null ? "" : String.valueOf(down.getMessage()),
                Optional.of(new StoreStatus.Epoch(
                        baseToken,
                        beganAt,
                        baseToken == 0 ? "the test began" : "all was lost",
                        Math.max(0, recoveringUntil - now),
                        0)));
    }

    @Override
    public boolean mayLosePast() {
        return true;
    }

    @Override
    public synchronized void listen(Listener newListener) {
        listener = newListener;
    }

    @Override
    public void close() {}
}
