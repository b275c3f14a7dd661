package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Permission of one call to use its resources, until it is closed. While it is open, no call of a conflicting grant is
 * admitted to any of them. Close it on every code path, when the work <em>and everything it started</em> is over:
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

    /**
     * An observer of all calls that arrive at a guard, for metrics and traces: {@link Guard#observe}. It decides nothing. Its methods and
     * those of {@link Arrival} run on the thread of the call or on the guard's executor, and must not block. The guard logs and ignores
     * what they throw. Implementations must be safe for use by many threads.
     */
    public interface Observer {
        /** A call arrives at the guard. The sequencer is not verified yet: {@code signed} is what its caller sent. */
        Arrival arriving(SignedSequencer signed, Access access, List<Binding> resources);

        /** A call was refused before it arrived, for example for want of a sequencer. */
        default void refused(Rejection why) {}
    }

    /** An observer of one call on its way in. Exactly one of its methods is called, once. */
    public interface Arrival {
        /** The call may use its resources, until {@code admission} is closed. */
        default void admitted(Admission admission) {}

        /** The call was refused. */
        default void refused(Rejection why) {}

        /** The caller left before the guard had decided. */
        default void left() {}
    }

    private final List<AdmittedCall> calls;
    private final @Nullable GuardCounters counters;
    private final Hold mine = new Hold();
    private int holds = 1;
    private boolean outcomeUnknown;
    private boolean settled;
    private CompletionStage<Void> announced = CompletableFuture.completedStage(null);

    /** Of a guard that only observes: it keeps no call out, and counts none as running. */
    Admission(List<AdmittedCall> calls) {
        this.calls = calls;
        this.counters = null;
    }

    Admission(List<AdmittedCall> calls, GuardCounters counters) {
        this.calls = calls;
        this.counters = counters;
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
     * Replaces {@link #close()} when the end of the work is unknown: a time-out, a broken connection to the backend.
     * The resources stay closed to conflicting grants until {@link #close()} reports the end after all, or until
     * {@link Guard.Builder#unknownOutcomeTimeout} is over.
     *
     * <p>Reply to the caller when the result completes. Until then a guard of another process, which shares the
     * register, may admit the caller's next call beside this one. That call would read data that this one is about
     * to change.
     *
     * <p>While a {@linkplain #retain() retention} is open the time-out has not begun. The call counts as one whose
     * {@linkplain #callerGone() caller has gone}: a write keeps later calls of its own grant out.
     *
     * @return completes when every guard of the resources keeps conflicting calls out: at once for a guard with
     *     marks of its own, or while a retention is open; never later than the time-out above, and never with a
     *     failure
     */
    public CompletionStage<Void> outcomeUnknown() {
        synchronized (this) {
            if (mine.closed) {
                return announced;
            }
            outcomeUnknown = true;
        }
        mine.close();
        callerGone(); // While a retention is open: the caller does not know the outcome of what it keeps.
        synchronized (this) {
            return announced;
        }
    }

    /**
     * The caller no longer waits for the end of the work, for example because its connection has closed. The work
     * continues, and {@link #close()} or {@link #outcomeUnknown()} reports its end. Until then a write keeps later
     * calls of the same grant out too. The caller does not know its outcome and may call again, and the data that it
     * then reads has to stay. After the end this does nothing.
     */
    public void callerGone() {
        synchronized (this) {
            if (holds == 0) {
                return;
            }
        }
        calls.forEach(AdmittedCall::callerGone);
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
        boolean first;
        synchronized (this) {
            if (holds > 0) {
                return;
            }
            unknown = outcomeUnknown;
            first = !settled;
            settled = true;
        }
        if (first && counters != null) {
            counters.ended.increment();
        }
        if (!unknown) {
            calls.forEach(AdmittedCall::ended);
            return;
        }
        CompletableFuture<Void> all = CompletableFuture.allOf(calls.stream()
                .map(call -> call.outcomeUnknown().toCompletableFuture())
                .toArray(CompletableFuture[]::new));
        synchronized (this) {
            announced = all.minimalCompletionStage();
        }
    }

    /** Whose calls these are; empty when the guard only observes. */
    public java.util.Optional<Sequencer> sequencer() {
        return calls.isEmpty()
                ? java.util.Optional.empty()
                : java.util.Optional.of(calls.get(0).sequencer());
    }
}
