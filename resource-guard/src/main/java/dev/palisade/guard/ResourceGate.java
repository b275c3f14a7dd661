package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Gate of one resource: admits, queues or refuses its calls. Thread-safe and non-blocking. */
interface ResourceGate {
    /**
     * Admits the call when it may run. The stage fails with a {@link dev.palisade.contract.RejectedException} at
     * {@code deadlineNanos} at the latest. Cancelling it withdraws the call.
     *
     * @return null when this gate was closed permanently: {@link ResourceGates#open} returns a new one
     */
    @Nullable
    CompletableFuture<AdmittedCall> enter(Sequencer sequencer, Access access, long deadlineNanos);

    /** Compares and raises for a guard that only observes, and admits nothing. */
    Optional<Rejection> observe(Sequencer sequencer, Access access);
}
