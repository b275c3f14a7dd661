package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import dev.palisade.guard.MarkStore.StoredMark;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Gates of all resources of a guard. Thread-safe and non-blocking. */
interface ResourceGates {
    /** The gate of a resource. The stage fails with a {@link dev.palisade.contract.RejectedException}. */
    CompletionStage<? extends ResourceGate> open(Binding binding, Sequencer sequencer);

    /** Admits a call that need not wait; null: {@link #open}. */
    @Nullable
    AdmittedCall tryEnter(Binding binding, Sequencer sequencer, Access access);

    /** How many resources are remembered. */
    int marks();

    /** Whether no call waits, runs or is quarantined anywhere. */
    boolean areIdle();

    /** Whether calls that an earlier process or another guard admitted have ended. */
    boolean isWaitOver();

    /** Whether nothing can be known here of earlier grants yet: the store is new, and no token was requested. */
    boolean isUnused();

    /** Whether it is known that no guard admitted anything before. */
    boolean isNeverUsed();

    /**
     * Raises every mark above all grants so far, requests running calls to stop, and admits no call for &#916;.
     *
     * @return fails with a {@link dev.palisade.contract.RejectedException}; raise again then
     */
    CompletionStage<Void> raiseAll();

    /** Admits no call for &#916; from now on: calls of another guard may be running. */
    void waitForOthers();

    /**
     * {@link #waitForOthers} if {@link #isUnused}, in one step.
     *
     * @return whether they are unused
     */
    boolean waitForOthersIfUnused();

    /** Requests every running call to stop. */
    void stopAll();

    /** The mark of {@code resource}; empty when none is stored. */
    Optional<StoredMark> mark(String resource);
}
