package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** An empty, intact mark store. While it {@link #holds}, nothing put becomes durable. */
public final class HeldMarks extends MemoryMarkStore {
    private final List<CompletableFuture<Void>> held = new ArrayList<>();
    private boolean holds;
    private volatile boolean taken;

    public synchronized void hold() {
        holds = true;
    }

    /** Another guard has the marks from now on. */
    public void takeOver() {
        taken = true;
    }

    private static RejectedException lost() {
        return new Rejection(Reason.MARK_UNAVAILABLE, "these marks were taken over").asException();
    }

    public void sync() {
        List<CompletableFuture<Void>> due;
        synchronized (this) {
            holds = false;
            due = List.copyOf(held);
            held.clear();
        }
        due.forEach(each -> each.complete(null));
    }

    @Override
    KeptMarks open() {
        return new KeptMarks(true, true, List.of(), List.of());
    }

    @Override
    synchronized CompletionStage<Void> put(StoredMark mark) {
        CompletableFuture<Void> kept = new CompletableFuture<>();
        if (holds) {
            held.add(kept);
        } else {
            kept.complete(null);
        }
        return kept;
    }

    @Override
    CompletionStage<Void> confirm() {
        return taken ? CompletableFuture.failedStage(lost()) : CompletableFuture.completedStage(null);
    }

    @Override
    boolean isHeldForLife() {
        return !taken;
    }

    @Override
    String id() {
        return "held";
    }

    @Override
    Optional<Rejection> failure() {
        return taken ? Optional.of(lost().rejection()) : Optional.empty();
    }

    @Override
    void close(boolean inOrder) {
        sync();
    }
}
