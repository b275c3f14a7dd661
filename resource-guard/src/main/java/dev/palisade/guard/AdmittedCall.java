package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import java.util.concurrent.CompletionStage;

/** One call that was admitted to one resource, until it has ended. Safe for use by many threads; nothing blocks. */
interface AdmittedCall {
    Sequencer sequencer();

    /** The call has ended, with all it started. More calls of this do nothing. */
    void ended();

    /**
     * Whether it has ended cannot be told any more, unless {@link #ended} says so later. Completes when every guard of the
     * resource keeps conflicting calls out, never with a failure, and never later than &#916;.
     */
    CompletionStage<Void> outcomeUnknown();

    /** The call runs on, and its end will be said, but its caller does not wait for it. */
    void callerGone();

    /** Runs {@code what} once when a newer grant waits for this call; at once if one does. */
    void onSuperseded(Runnable what);
}
