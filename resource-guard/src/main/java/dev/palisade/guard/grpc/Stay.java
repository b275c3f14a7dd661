package dev.palisade.guard.grpc;

import dev.palisade.guard.Admission;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * How long a handler's admission lasts: until the handler has closed its call <em>and</em> has come back from the callback
 * that it may be in. A handler that has not closed its call when nobody listens any more may still be at work on some
 * thread: then the guard has lost sight of it, until it closes the call after all. Safe for use by several threads.
 */
final class Stay {
    private final Admission admission;
    private boolean inHandler;
    private boolean closed;
    private boolean outOfSight;

    Stay(Admission admission) {
        this.admission = admission;
    }

    /** Before the handler's code is run. False when it has closed its call: what it would do now is not guarded. */
    synchronized boolean begin() {
        inHandler = !closed;
        return inHandler;
    }

    /** The handler's code has returned. */
    void returned() {
        synchronized (this) {
            inHandler = false;
        }
        var unused = settle();
    }

    /** The handler has closed its call. */
    void closed() {
        synchronized (this) {
            closed = true;
        }
        var unused = settle();
    }

    /** Nothing more will be told to the handler. Completes when what its caller does next cannot run beside it. */
    CompletionStage<Void> unwatched() {
        synchronized (this) {
            outOfSight = true;
        }
        return settle();
    }

    /** Not under the lock: whoever waits for this call may be let in, and run, on this thread. */
    private CompletionStage<Void> settle() {
        boolean over;
        synchronized (this) {
            if (inHandler || !(closed || outOfSight)) {
                return CompletableFuture.completedStage(null);
            }
            over = closed;
        }
        if (!over) {
            return admission.outcomeUnknown();
        }
        admission.close();
        return CompletableFuture.completedStage(null);
    }
}
