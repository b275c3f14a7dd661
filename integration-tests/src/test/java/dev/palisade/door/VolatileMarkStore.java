package dev.palisade.door;

import dev.palisade.contract.Rejection;
import dev.palisade.guard.mark.BaseMark;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.MarkStore;
import dev.palisade.guard.mark.StoredMark;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A planted bug: says "durable" and keeps nothing, and after a restart says "never used". What the checkers must find. The
 * product's {@link dev.palisade.guard.mark.MemoryMarkStore} is honest about it and is no such bug.
 */
final class VolatileMarkStore implements MarkStore {
    @Override
    public KeptMarks open() {
        return new KeptMarks(true, false, List.of(), List.of());
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
        return "volatile";
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
