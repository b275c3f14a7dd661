package dev.palisade.guard.grpc;

import dev.palisade.guard.Admission;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Scope of the admission of one handler: open until the handler has closed its call <em>and</em> has returned from
 * its current callback. A handler that has not closed its call after its last callback may still work on some
 * thread. Then the outcome is unknown until it closes the call after all. Thread-safe.
 */
final class AdmissionScope {
    private final Admission admission;
    private boolean inCallback;
    private boolean closed;
    private boolean callbacksEnded;

    AdmissionScope(Admission admission) {
        this.admission = admission;
    }

    /**
     * Called before a callback of the handler. Returns false when the handler has closed its call: its further work
     * is not guarded.
     */
    synchronized boolean enterCallback() {
        inCallback = !closed;
        return inCallback;
    }

    /** Called when the callback has returned. */
    void exitCallback() {
        synchronized (this) {
            inCallback = false;
        }
        var unused = settle();
    }

    /** The handler has closed its call. */
    void callClosed() {
        synchronized (this) {
            closed = true;
        }
        var unused = settle();
    }

    /**
     * The handler gets no more callbacks. Completes when the caller's next call cannot run beside the handler's
     * work.
     */
    CompletionStage<Void> callbacksEnded() {
        synchronized (this) {
            callbacksEnded = true;
        }
        return settle();
    }

    /** Not under the lock: a call that waits for this one may be admitted, and run, on this thread. */
    private CompletionStage<Void> settle() {
        boolean over;
        synchronized (this) {
            if (inCallback || !(closed || callbacksEnded)) {
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
