package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Periodic check that a guard still owns its marks (protocol, the guard). A successor admits calls &#916; after it
 * took the marks over, so this guard has to notice earlier: it checks the store every &#916;/4. When the marks are
 * lost, or the store has not replied for &#916;/2, the guard refuses every call and stops the running ones.
 *
 * <p>In a shared register the check renews the guard's lease, whose length replaces &#916;/2. Lost marks stay lost;
 * a store that replies again resumes the service. A store that no other process can take over is not checked, and
 * its failure is reported.
 */
final class MarkOwnership {
    /** Steps of the check within its period: the maximum delay of a repeated check or of a timer. */
    private static final int STEPS = 4;

    /** For a shorter &#916; the check would be a load of its own. */
    private static final long STEP_NANOS_MIN = 10_000_000;

    private final GuardContext context;
    private final ResourceGates gates;
    private final GuardRegistrations registrations;
    private final long stepNanos;
    private final long successorNanos;

    /** When the newest check started that the store confirmed. */
    private long confirmedNanos;

    private boolean asking;
    private boolean unconfirmed;
    private boolean ended;

    /**
     * @param openedNanos before the store was opened
     * @param registrations suspended while the marks are unconfirmed, ended when they are lost
     * @param silenceNanos without a confirmation for this long the guard refuses every call; it checks twice as
     *     often
     * @param successorNanos how long after a confirmation another guard may admit calls beside those of this one
     */
    MarkOwnership(
            GuardContext context,
            ResourceGates gates,
            long openedNanos,
            GuardRegistrations registrations,
            long silenceNanos,
            long successorNanos) {
        this.context = context;
        this.gates = gates;
        this.registrations = registrations;
        this.successorNanos = successorNanos;
        this.stepNanos = Math.max(STEP_NANOS_MIN, silenceNanos / 2 / STEPS);
        this.confirmedNanos = openedNanos;
    }

    void start() {
        context.onStoreFailure(this::checkFailure);
        if (!context.store().isHeldForLife()) {
            schedule();
        }
    }

    /** Ends the check. */
    synchronized void end() {
        ended = true;
    }

    private void schedule() {
        context.time().at(context.time().nanos() + stepNanos, this::step);
    }

    private void step() {
        long now = context.time().nanos();
        boolean ask;
        boolean late;
        synchronized (this) {
            if (ended) {
                return;
            }
            ask = !asking && now - confirmedNanos >= STEPS * stepNanos;
            asking |= ask;
            late = !unconfirmed && now - confirmedNanos >= 2 * STEPS * stepNanos;
            if (late) {
                unconfirmed = true;
                stop("marks_unconfirmed", silent((now - confirmedNanos) / 1_000_000));
                registrations.suspend();
            }
        }
        if (late) {
            gates.stopAll();
        }
        if (ask) {
            context.store().confirm().whenComplete((owned, failure) -> answered(now, failure));
        }
        schedule();
    }

    private void answered(long askedNanos, @Nullable Throwable failure) {
        synchronized (this) {
            asking = false;
            if (failure == null) {
                confirmedNanos = askedNanos;
            }
            // A slow reply says too little about the present: the next check does.
            boolean recent = context.time().nanos() - askedNanos < 2 * STEPS * stepNanos;
            if (failure == null && recent && unconfirmed && !ended) {
                unconfirmed = false;
                registrations.resume();
                context.serving().clear(this);
                context.events().tellAlways("marks_confirmed");
            }
        }
        if (failure != null) {
            checkFailure();
        }
    }

    private void checkFailure() {
        Optional<Rejection> failure = context.store().failure();
        boolean lost = !context.store().isHeldForLife();
        synchronized (this) {
            if (failure.isEmpty() || ended) {
                return;
            }
            ended = true;
            if (lost) {
                stop("marks_lost", failure.get());
            } else {
                context.serving()
                        .impair(this, failure.get()); // No other guard can have the marks: running grants may continue.
                context.warn("marks_failed", failure.get());
            }
        }
        if (lost) {
            var unused = registrations.end(true);
            gates.stopAll();
            context.time().at(confirmedNanos + successorNanos, this::warnOfRunningCalls);
        }
    }

    private void stop(String event, Rejection why) {
        context.serving().refuse(this, why);
        context.warn(event, why);
    }

    private void warnOfRunningCalls() {
        if (!gates.areIdle()) {
            context.warn(
                    "calls_outlive_marks",
                    new Rejection(
                            Reason.MARK_UNAVAILABLE,
                            "calls of this guard still run, and the guard that owns its marks now admits others beside"
                                    + " them: late writes are possible; bound every call by half of unknownOutcomeTimeout"));
        }
    }

    private static Rejection silent(long millis) {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark store has not confirmed for " + millis + " ms that these marks are still this guard's;"
                        + " nothing was applied: try again when its database is up");
    }
}
