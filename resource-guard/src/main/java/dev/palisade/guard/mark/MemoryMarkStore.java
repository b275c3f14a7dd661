package dev.palisade.guard.mark;

import dev.palisade.contract.Rejection;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Keeps nothing. Each start is a new store, so the guard asks the lock service for base marks: after a restart of the guard
 * every grant from before is refused and its holder has to acquire again. Safe, needs no disk, and costs that.
 */
public final class MemoryMarkStore implements MarkStore {
    private final String id = Marks.newId();

    @Override
    public KeptMarks open() {
        return new KeptMarks(false, false, List.of(), List.of());
    }

    @Override
    public CompletionStage<Void> put(StoredMark mark) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    public CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    public CompletionStage<Void> confirm() {
        return CompletableFuture.completedStage(null);
    }

    @Override
    public boolean isHeldForLife() {
        return true;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Optional<Rejection> failure() {
        return Optional.empty();
    }

    @Override
    public void close(boolean inOrder) {
        // Nothing is kept.
    }
}
