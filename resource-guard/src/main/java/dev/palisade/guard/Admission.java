package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import dev.palisade.guard.Doorway.Call;
import java.util.List;

/**
 * Leave to use the resources that were asked for, until it is closed. While it is open no call of a conflicting grant is
 * let in to any of them. Close it on every way out, when the work <em>and everything it started</em> is over:
 *
 * <pre>{@code
 * try (Admission admission = guard.enter(sequencer, Access.WRITE, Binding.of("orders/42"))) {
 *     backend.put(...);
 * }
 * }</pre>
 *
 * <p>Safe for use by several threads.
 */
public final class Admission implements AutoCloseable {
    /**
     * A reason to keep an {@link Admission} open after its call: {@link #retain}. Close it when the work that needs the
     * admission is over, on any thread. Only the guard implements this. Safe for use by several threads.
     */
    public interface Retention extends AutoCloseable {
        /** The work has ended. Does not block and throws nothing; more calls of this do nothing. */
        @Override
        void close();
    }

    private final List<Call> calls;
    private final Hold mine = new Hold();
    private int holds = 1;
    private boolean outcomeUnknown;

    Admission(List<Call> calls) {
        this.calls = calls;
    }

    /** One reason why the admission is still needed. */
    private final class Hold implements Retention {
        private boolean closed;

        @Override
        public void close() {
            synchronized (Admission.this) {
                if (closed) {
                    return;
                }
                closed = true;
                holds--;
            }
            settle();
        }
    }

    /**
     * Keeps the admission open beyond {@link #close()}, for work that outlives the call: until the result is closed too. May be
     * called several times; the admission ends with the last of its retentions.
     *
     * @throws IllegalStateException when the admission has ended already
     */
    public synchronized Retention retain() {
        if (holds == 0) {
            throw new IllegalStateException("the admission has ended; retain it before it is closed");
        }
        holds++;
        return new Hold();
    }

    /**
     * Runs {@code what} once, as soon as a newer grant waits for this call to end; at once if one does already. The work
     * should stop then; it stays admitted until it is closed. {@code what} runs on a thread of the guard's executor or on the caller's.
     */
    public void onSuperseded(Runnable what) {
        calls.forEach(call -> call.onSuperseded(what));
    }

    /**
     * In place of {@link #close()} when it cannot be told whether the work has ended: a timeout, a broken connection to the
     * backend. The resources stay closed to conflicting grants until {@link #close()} says that it has ended after all, or
     * until {@link Guard.Builder#unknownOutcomeTimeout} is over.
     */
    public void outcomeUnknown() {
        synchronized (this) {
            if (mine.closed) {
                return;
            }
            outcomeUnknown = true;
        }
        mine.close();
    }

    /** The work has ended. More calls of this do nothing. */
    @Override
    public void close() {
        boolean late;
        synchronized (this) {
            late = mine.closed && outcomeUnknown;
            outcomeUnknown = false;
        }
        if (late) {
            settle();
        } else {
            mine.close();
        }
    }

    private void settle() {
        boolean unknown;
        synchronized (this) {
            if (holds > 0) {
                return;
            }
            unknown = outcomeUnknown;
        }
        for (Call call : calls) {
            if (unknown) {
                call.outcomeUnknown();
            } else {
                call.ended();
            }
        }
    }

    /** Whose calls these are; empty when the guard only observes. */
    public java.util.Optional<Sequencer> sequencer() {
        return calls.isEmpty()
                ? java.util.Optional.empty()
                : java.util.Optional.of(calls.get(0).sequencer());
    }
}
