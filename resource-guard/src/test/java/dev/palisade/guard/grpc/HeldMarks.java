package dev.palisade.guard.grpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.mark.BaseMark;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.MarkStore;
import dev.palisade.guard.mark.StoredMark;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** An empty, intact mark store. While it {@link #holds}, nothing put becomes durable. */
final class HeldMarks implements MarkStore {
    private final List<CompletableFuture<Void>> held = new ArrayList<>();
    private boolean holds;
    private volatile boolean taken;

    synchronized void hold() {
        holds = true;
    }

    /** Another guard has the marks from now on. */
    void takeOver() {
        taken = true;
    }

    private static RejectedException lost() {
        return new Rejection(Reason.MARK_UNAVAILABLE, "these marks were taken over").asException();
    }

    void sync() {
        List<CompletableFuture<Void>> due;
        synchronized (this) {
            holds = false;
            due = List.copyOf(held);
            held.clear();
        }
        due.forEach(each -> each.complete(null));
    }

    @Override
    public KeptMarks open() {
        return new KeptMarks(true, true, List.of(), List.of());
    }

    @Override
    public synchronized CompletionStage<Void> put(StoredMark mark) {
        CompletableFuture<Void> kept = new CompletableFuture<>();
        if (holds) {
            held.add(kept);
        } else {
            kept.complete(null);
        }
        return kept;
    }

    @Override
    public CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    public CompletionStage<Void> confirm() {
        return taken ? CompletableFuture.failedStage(lost()) : CompletableFuture.completedStage(null);
    }

    @Override
    public boolean isHeldForLife() {
        return !taken;
    }

    @Override
    public String id() {
        return "held";
    }

    @Override
    public Optional<Rejection> failure() {
        return taken ? Optional.of(lost().rejection()) : Optional.empty();
    }

    @Override
    public void close(boolean inOrder) {
        sync();
    }
}
