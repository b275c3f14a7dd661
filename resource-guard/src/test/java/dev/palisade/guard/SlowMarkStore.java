package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
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
final class SlowMarkStore extends MarkStore {
    private record Write(Runnable apply, CompletableFuture<Void> kept) {}

    final Map<String, StoredMark> marks = new LinkedHashMap<>();
    final Map<String, BaseMark> bases = new LinkedHashMap<>();
    private final Queue<Write> pending = new ArrayDeque<>();
    /** By name; tests that stand in for two processes with one store share it. */
    Map<String, Long> registrations = new LinkedHashMap<>();

    String id = "slow";
    boolean complete = true;
    boolean closedInOrder = true;
    boolean syncsAtOnce;
    boolean taken;
    boolean heldForLife = true;
    /** What {@link #confirm} answers while nobody else took the store. */
    CompletableFuture<Void> confirmed = CompletableFuture.completedFuture(null);

    @Override
    KeptMarks open() {
        pending.clear();
        KeptMarks kept = new KeptMarks(
                complete, closedInOrder, List.copyOf(marks.values()), List.copyOf(bases.values()), registrations);
        closedInOrder = false;
        return kept;
    }

    @Override
    CompletionStage<Void> put(StoredMark mark) {
        return write(() -> marks.put(mark.resource(), mark));
    }

    @Override
    CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return write(() -> {
            bases.put(base.issuer() + "/" + base.domain(), base);
            dropped.forEach(marks::remove);
        });
    }

    @Override
    CompletionStage<Void> forgetMarks() {
        return write(() -> {
            marks.clear();
            bases.clear();
            complete = false;
        });
    }

    @Override
    CompletionStage<Void> putRegistration(String name, long token) {
        return write(() -> registrations.put(name, token));
    }

    @Override
    CompletionStage<Void> confirm() {
        return taken ? CompletableFuture.failedStage(lost()) : confirmed;
    }

    @Override
    boolean isHeldForLife() {
        return heldForLife;
    }

    @Override
    String id() {
        return id;
    }

    @Override
    Optional<Rejection> failure() {
        return taken ? Optional.of(lost().rejection()) : Optional.empty();
    }

    @Override
    void close(boolean inOrder) {
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
