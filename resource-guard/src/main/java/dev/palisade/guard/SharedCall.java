package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One call at a {@link SharedGate}, from its arrival to its end. Its state belongs to the gate, and is read and
 * written under the gate's lock.
 */
final class SharedCall implements AdmittedCall {
    enum State {
        /** The call waits for a step of the register, or for older calls to end. */
        WAITING,
        /** Registered durably; its result is completed, or about to be. */
        RUNNING,
        /** Its outcome is unknown. Its entry stays for &#916; unless its end becomes known. */
        QUARANTINED,
        /** Refused, abandoned or ended. Its entry may still be there. */
        ENDED
    }

    private final SharedGate gate;
    private final long number;
    private final Sequencer sequencer;
    private final Access access;
    private final CompletableFuture<AdmittedCall> result = new CompletableFuture<>();
    private final StopRequest stop = new StopRequest();

    /** Completes when its quarantine, or its end, is durable. */
    private final CompletableFuture<Void> announced = new CompletableFuture<>();

    State state = State.WAITING;

    /** A step that would have registered it has an unknown outcome. */
    boolean mayBeRegistered;

    /** A step that may register it is under way. */
    boolean inStep;

    /** The call that blocked it when it was compared last. */
    @Nullable
    String blockedBy;

    Runnable cancelTimer = () -> {};

    SharedCall(SharedGate gate, long number, Sequencer sequencer, Access access) {
        this.gate = gate;
        this.number = number;
        this.sequencer = sequencer;
        this.access = access;
    }

    long number() {
        return number;
    }

    @Override
    public Sequencer sequencer() {
        return sequencer;
    }

    Access access() {
        return access;
    }

    CompletableFuture<AdmittedCall> result() {
        return result;
    }

    @Override
    public void ended() {
        gate.ended(this);
    }

    @Override
    public CompletionStage<Void> outcomeUnknown() {
        gate.outcomeUnknown(this);
        return announced;
    }

    void announce() {
        announced.complete(null);
    }

    @Override
    public void callerGone() {
        gate.callerGone(this);
    }

    @Override
    public void onSuperseded(Runnable what) {
        stop.onMade(what);
    }

    /** Its listeners run on the guard's executor. */
    void superseded() {
        gate.stop(this);
    }

    /** Returns whether this is the first request. */
    boolean requestStop() {
        return stop.make();
    }

    RegisteredCall entry() {
        return RegisteredCall.running("", number, sequencer, access);
    }
}
