package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.mark.BaseMark;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.MarkStore;
import dev.palisade.guard.mark.StoredMark;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A mark store whose disk the test is: what was put is kept when {@link #sync} says so. Outlives the guards that open it. */
final class SlowMarkStore implements MarkStore {
    private record Write(Runnable apply, CompletableFuture<Void> kept) {}

    final Map<String, StoredMark> marks = new LinkedHashMap<>();
    final Map<String, BaseMark> bases = new LinkedHashMap<>();
    private final Queue<Write> pending = new ArrayDeque<>();
    String id = "slow";
    boolean complete = true;
    boolean closedInOrder = true;
    boolean syncsAtOnce;
    boolean taken;
    boolean heldForLife = true;
    /** What {@link #confirm} answers while nobody else took the store. */
    CompletableFuture<Void> confirmed = CompletableFuture.completedFuture(null);

    @Override
    public KeptMarks open() {
        pending.clear();
        KeptMarks kept =
                new KeptMarks(complete, closedInOrder, List.copyOf(marks.values()), List.copyOf(bases.values()));
        closedInOrder = false;
        return kept;
    }

    @Override
    public CompletionStage<Void> put(StoredMark mark) {
        return write(() -> marks.put(mark.resource(), mark));
    }

    @Override
    public CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return write(() -> {
            bases.put(base.issuer() + "/" + base.domain(), base);
            dropped.forEach(marks::remove);
        });
    }

    @Override
    public CompletionStage<Void> confirm() {
        return taken ? CompletableFuture.failedStage(lost()) : confirmed;
    }

    @Override
    public boolean isHeldForLife() {
        return heldForLife;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Optional<Rejection> failure() {
        return taken ? Optional.of(lost().rejection()) : Optional.empty();
    }

    @Override
    public void close(boolean inOrder) {
        sync();
        closedInOrder = inOrder;
    }

    int pending() {
        return pending.size();
    }

    /** All that was put is durable now. */
    void sync() {
        for (Write write = pending.poll(); write != null; write = pending.poll()) {
            write.apply().run();
            write.kept().complete(null);
        }
    }

    /** The disk fails; nobody knows what is kept. */
    void fail() {
        for (Write write = pending.poll(); write != null; write = pending.poll()) {
            write.kept().completeExceptionally(lost());
        }
    }

    private CompletionStage<Void> write(Runnable apply) {
        Write write = new Write(apply, new CompletableFuture<>());
        pending.add(write);
        if (syncsAtOnce) {
            sync();
        }
        return write.kept();
    }

    private static RejectedException lost() {
        return new Rejection(Reason.MARK_UNAVAILABLE, "the disk is gone").asException();
    }
}
