package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** A mark store that runs a step before each mark is kept, and one before its guard is notified. Changes nothing else. */
public final class SteppedMarkStore extends MarkStore {
    private final MarkStore marks;
    private final Runnable asked;
    private final Runnable kept;

    /**
     * @param asked runs before a mark is kept
     * @param kept runs when a mark is durable, before the guard hears of it
     */
    public SteppedMarkStore(MarkStore marks, Runnable asked, Runnable kept) {
        this.marks = marks;
        this.asked = asked;
        this.kept = kept;
    }

    @Override
    KeptMarks open() {
        return marks.open();
    }

    @Override
    CompletionStage<Void> put(StoredMark mark) {
        asked.run();
        return marks.put(mark).thenRun(kept);
    }

    @Override
    CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return marks.putBase(base, dropped);
    }

    @Override
    CompletionStage<Void> forgetMarks() {
        return marks.forgetMarks();
    }

    @Override
    CompletionStage<Void> putRegistration(String name, long token) {
        return marks.putRegistration(name, token);
    }

    @Override
    CompletionStage<Void> confirm() {
        return marks.confirm();
    }

    @Override
    boolean isHeldForLife() {
        return marks.isHeldForLife();
    }

    @Override
    String id() {
        return marks.id();
    }

    @Override
    Optional<Rejection> failure() {
        return marks.failure();
    }

    @Override
    void close(boolean inOrder) {
        marks.close(inOrder);
    }
}
