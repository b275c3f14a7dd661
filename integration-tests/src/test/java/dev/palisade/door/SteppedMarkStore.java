package dev.palisade.door;

import dev.palisade.contract.Rejection;
import dev.palisade.guard.mark.BaseMark;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.MarkStore;
import dev.palisade.guard.mark.StoredMark;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** A mark store whose every mark passes the gate before it is kept and again before the guard is told. Changes nothing else. */
final class SteppedMarkStore implements MarkStore {
    private final MarkStore marks;
    private final StepGate gate;

    SteppedMarkStore(MarkStore marks, StepGate gate) {
        this.marks = marks;
        this.gate = gate;
    }

    @Override
    public KeptMarks open() {
        return marks.open();
    }

    @Override
    public CompletionStage<Void> put(StoredMark mark) {
        gate.pass(Step.MARK_ASKED);
        return marks.put(mark).thenRun(() -> gate.pass(Step.MARK_KEPT));
    }

    @Override
    public CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        return marks.putBase(base, dropped);
    }

    @Override
    public CompletionStage<Void> confirm() {
        return marks.confirm();
    }

    @Override
    public boolean isHeldForLife() {
        return marks.isHeldForLife();
    }

    @Override
    public String id() {
        return marks.id();
    }

    @Override
    public Optional<Rejection> failure() {
        return marks.failure();
    }

    @Override
    public void close(boolean inOrder) {
        marks.close(inOrder);
    }
}
