package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The store of {@link MarkStore#memory}: keeps nothing. Not final: stores of tests differ from it in a few answers. */
class MemoryMarkStore extends MarkStore {
    private final String id = Marks.newId();

    @Override
    KeptMarks open() {
        return new KeptMarks(false, false, List.of(), List.of());
    }

    @Override
    CompletionStage<Void> put(StoredMark mark) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    CompletionStage<Void> forgetMarks() {
        return CompletableFuture.completedStage(null);
    }

    @Override
    CompletionStage<Void> putRegistration(String name, long token) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    CompletionStage<Void> confirm() {
        return CompletableFuture.completedStage(null);
    }

    @Override
    boolean isHeldForLife() {
        return true;
    }

    @Override
    String id() {
        return id;
    }

    @Override
    Optional<Rejection> failure() {
        return Optional.empty();
    }

    @Override
    void close(boolean inOrder) {
        // Nothing is kept.
    }
}
