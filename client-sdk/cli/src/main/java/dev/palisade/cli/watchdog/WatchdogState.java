package dev.palisade.cli.watchdog;

import java.time.Duration;

/**
 * The state machine of the watchdog: when the command gets SIGTERM, when it gets SIGKILL, and when it has ended. It
 * reads no clock itself. It never lets the command outlive the lease by more than the time until SIGKILL.
 */
final class WatchdogState {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long KILL_AGAIN_NANOS = 100 * NANOS_PER_MILLI;
    private static final long STUCK_NANOS = 5_000 * NANOS_PER_MILLI;
    private static final int KILLED = 128 + 9;

    /** Control of the command's processes. */
    interface ProcessControl {
        /** Whether a process of the command runs. */
        boolean alive();

        void signal(String name);

        void kill();
    }

    /**
     * A reading of both clocks, because either may have stopped or jumped.
     *
     * @param nanos of the monotonic clock
     * @param wallMillis of the wall clock, since 1970
     */
    record ClockReading(long nanos, long wallMillis) {}

    private final TerminationPolicy termination;
    private final ProcessControl command;
    private ClockReading validSince;
    private long validNanos;
    private boolean lost;
    private boolean firstProcessEnded;
    private int exitCode = KILLED;
    private boolean killScheduled;
    private boolean killed;
    private boolean finished;
    private boolean groupEmpty;
    private long nextKillNanos;
    private long firstKillNanos;

    /** @param remaining validity of the lease, counted from {@code validSince}, the time of the request */
    WatchdogState(TerminationPolicy termination, ProcessControl command, ClockReading validSince, Duration remaining) {
        this.termination = termination;
        this.command = command;
        this.validSince = validSince;
        this.validNanos = remaining.toNanos();
    }

    /** Replaces the validity of the lease. It counts from the time of the request. */
    void validity(ClockReading requestedAt, Duration remaining) {
        validSince = requestedAt;
        validNanos = remaining.toNanos();
    }

    /** Handles the loss of the lease, or the end of the process that renewed it. */
    void lost(ClockReading now) {
        if (lost || finished) {
            return;
        }
        lost = true;
        if (termination.killAtOnce()) {
            kill(now);
        } else {
            command.signal("TERM");
            scheduleKill(now);
        }
    }

    /** Forwards a signal. SIGKILL is scheduled at the first one. */
    void signal(String name, ClockReading now) {
        if (!finished) {
            command.signal(name);
            scheduleKill(now);
        }
    }

    /** Handles the end of the first process. The rest of the group is terminated before the end is reported. */
    void firstProcessEnded(int code, ClockReading now) {
        firstProcessEnded = true;
        exitCode = code;
        if (command.alive()) {
            command.signal("TERM");
            scheduleKill(now);
        }
        tick(now);
    }

    /** Acts on deadlines that have passed. The caller calls it after {@link #nextNanos} at the latest. */
    void tick(ClockReading now) {
        if (finished) {
            return;
        }
        if (remainingNanos(now) <= 0) {
            lost(now);
        }
        if (firstProcessEnded && !command.alive()) {
            finished = true;
            groupEmpty = true;
        } else if (killed && now.nanos() - firstKillNanos >= STUCK_NANOS) {
            finished = true;
        } else if (killScheduled && now.nanos() - nextKillNanos >= 0) {
            kill(now);
        }
    }

    /** The time until the next deadline. */
    long nextNanos(ClockReading now) {
        long next = lost ? Long.MAX_VALUE : Math.max(0, remainingNanos(now));
        if (killScheduled) {
            next = Math.min(next, Math.max(0, nextKillNanos - now.nanos()));
        }
        return next;
    }

    /** Whether the first process has ended and its group is not empty yet. */
    boolean awaitsGroup() {
        return firstProcessEnded && !finished;
    }

    boolean lost() {
        return lost;
    }

    boolean finished() {
        return finished;
    }

    Message.Ended ended() {
        return new Message.Ended(exitCode, lost, groupEmpty);
    }

    private long remainingNanos(ClockReading now) {
        long byMonotonic = validNanos - (now.nanos() - validSince.nanos());
        long byWall = validNanos - (now.wallMillis() - validSince.wallMillis()) * NANOS_PER_MILLI;
        return Math.min(byMonotonic, byWall);
    }

    private void scheduleKill(ClockReading now) {
        if (!killScheduled) {
            killScheduled = true;
            nextKillNanos = now.nanos() + termination.killAfter().toNanos();
        }
    }

    private void kill(ClockReading now) {
        if (!killed) {
            killed = true;
            firstKillNanos = now.nanos();
        }
        command.kill();
        killScheduled = true;
        nextKillNanos = now.nanos() + KILL_AGAIN_NANOS;
    }
}
