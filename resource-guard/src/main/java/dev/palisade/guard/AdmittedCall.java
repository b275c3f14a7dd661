package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import java.util.concurrent.CompletionStage;

/** One call that was admitted to one resource, until it has ended. Thread-safe and non-blocking. */
interface AdmittedCall {
    Sequencer sequencer();

    /** The call has ended, with all work that it started. More calls of this do nothing. */
    void ended();

    /**
     * The end of the call is unknown, unless {@link #ended} reports it later. Completes when every guard of the
     * resource keeps conflicting calls out, never with a failure, and never later than &#916;.
     */
    CompletionStage<Void> outcomeUnknown();

    /** The call continues, and its end will be reported, but its caller does not wait for it. */
    void callerGone();

    /** Runs {@code what} once when a newer grant waits for this call; at once if one does. */
    void onSuperseded(Runnable what);
}
