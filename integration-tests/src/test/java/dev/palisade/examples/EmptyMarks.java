package dev.palisade.examples;

import dev.palisade.guard.mark.BaseMark;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.MarkStore;
import dev.palisade.guard.mark.StoredMark;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** As a store is whose guard has never let anybody in: nobody need be asked or waited for. */
final class EmptyMarks implements MarkStore {
    @Override
    public KeptMarks open() {
        return new KeptMarks(true, true, List.of(), List.of());
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
    public void close(boolean inOrder) {
        // Nothing is kept.
    }
}
