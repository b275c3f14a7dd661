package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import dev.palisade.guard.MarkStore.StoredMark;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The ways into all resources of a guard. Safe for use by many threads; nothing blocks. */
interface ResourceGates {
    /** The gate of a resource. The stage fails with a {@link dev.palisade.contract.RejectedException}. */
    CompletionStage<? extends ResourceGate> open(Binding binding, Sequencer sequencer);

    /** Admits a call that need not wait; null: {@link #open}. */
    @Nullable
    AdmittedCall enterAtOnce(Binding binding, Sequencer sequencer, Access access);

    /** How many resources are remembered. */
    int marks();

    /** Whether no call waits, runs or is quarantined anywhere. */
    boolean areIdle();

    /** Whether calls that an earlier process or another guard let in have ended. */
    boolean isWaitOver();

    /** Whether nothing can be known here of earlier grants yet: the store is new, and nothing was asked for. */
    boolean isUnused();

    /** Whether it is known that no guard admitted anything before. */
    boolean isNeverUsed();

    /**
     * Raises every mark above all grants so far, asks running calls to stop, and admits nothing for &#916;.
     *
     * @return fails with a {@link dev.palisade.contract.RejectedException}; raise again then
     */
    CompletionStage<Void> raiseAll();

    /** Calls that another guard let in may be running for &#916; from now on. */
    void waitForOthers();

    /**
     * {@link #waitForOthers} if {@link #isUnused}, in one step.
     *
     * @return whether they are unused
     */
    boolean waitForOthersIfUnused();

    /** Asks every call that runs anywhere to stop. */
    void stopAll();

    /** The mark of {@code resource}; empty when none is remembered. */
    Optional<StoredMark> mark(String resource);
}
