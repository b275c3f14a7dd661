package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The way into one resource. Safe for use by many threads; nothing blocks. */
interface ResourceGate {
    /**
     * The stage fails with a {@link dev.palisade.contract.RejectedException} at {@code deadlineNanos} at the latest; cancelling
     * it leaves.
     *
     * @return null when this gate was closed for good: there is a new one
     */
    @Nullable
    CompletableFuture<AdmittedCall> enter(Sequencer sequencer, Access access, long deadlineNanos);

    /** Compares and raises for a guard that only observes, and admits nothing. */
    Optional<Rejection> observe(Sequencer sequencer, Access access);
}
