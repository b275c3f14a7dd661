package dev.palisade.cli.watchdog;

import java.time.Duration;

/**
 * What the watchdog decides: when the command is told to end, when it is killed, and when it has ended. Reads no clock and sends
 * no signal itself. It never lets the command outlive the lease by more than the time it may take to end.
 */
final class Watch {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long KILL_AGAIN_NANOS = 100 * NANOS_PER_MILLI;
    private static final long STUCK_NANOS = 5_000 * NANOS_PER_MILLI;
    private static final int KILLED = 128 + 9;

    /** What can be done to the command. */
    interface Hands {
        /** Whether any process of it is left. */
        boolean alive();

        void signal(String name);

        void kill();
    }

    /**
     * A moment by both clocks, as either may be the one that stood still or jumped.
     *
     * @param nanos monotonic
     * @param wallMillis since 1970
     */
    record Moment(long nanos, long wallMillis) {}

    private final Ending ending;
    private final Hands hands;
    private Moment since;
    private long holdsNanos;
    private boolean lost;
    private boolean firstEnded;
    private int exitCode = KILLED;
    private boolean ordered;
    private boolean killed;
    private boolean over;
    private boolean whole;
    private long killAt;
    private long killedAt;

    /** @param since when the lease was asked about; it was certain to hold for {@code holds} from then, or longer */
    Watch(Ending ending, Hands hands, Moment since, Duration holds) {
        this.ending = ending;
        this.hands = hands;
        this.since = since;
        this.holdsNanos = holds.toNanos();
    }

    /** The newest answer counts, counted from its question. */
    void holds(Moment asked, Duration remaining) {
        since = asked;
        holdsNanos = remaining.toNanos();
    }

    /** The lease is over, or the process that renewed it is gone. */
    void lost(Moment now) {
        if (lost || over) {
            return;
        }
        lost = true;
        if (ending.killAtOnce()) {
            kill(now);
        } else {
            hands.signal("TERM");
            order(now);
        }
    }

    /** Passes a signal on; from the first on the command has so long to end. */
    void signal(String name, Moment now) {
        if (!over) {
            hands.signal(name);
            order(now);
        }
    }

    /** The first process has ended. What it left running is ended too, before anybody is told. */
    void firstEnded(int code, Moment now) {
        firstEnded = true;
        exitCode = code;
        if (hands.alive()) {
            hands.signal("TERM");
            order(now);
        }
        tick(now);
    }

    /** To be called at {@link #nextNanos} at the latest. */
    void tick(Moment now) {
        if (over) {
            return;
        }
        if (leftNanos(now) <= 0) {
            lost(now);
        }
        if (firstEnded && !hands.alive()) {
            over = true;
            whole = true;
        } else if (killed && now.nanos() - killedAt >= STUCK_NANOS) {
            over = true;
        } else if (ordered && now.nanos() - killAt >= 0) {
            kill(now);
        }
    }

    /** For how long nothing is due. */
    long nextNanos(Moment now) {
        long next = lost ? Long.MAX_VALUE : Math.max(0, leftNanos(now));
        if (ordered) {
            next = Math.min(next, Math.max(0, killAt - now.nanos()));
        }
        return next;
    }

    /** Whether the first process is gone and the rest is still being waited for. */
    boolean lingers() {
        return firstEnded && !over;
    }

    boolean lost() {
        return lost;
    }

    boolean over() {
        return over;
    }

    Message.Ended ended() {
        return new Message.Ended(exitCode, lost, whole);
    }

    private long leftNanos(Moment now) {
        long byMonotonic = holdsNanos - (now.nanos() - since.nanos());
        long byWall = holdsNanos - (now.wallMillis() - since.wallMillis()) * NANOS_PER_MILLI;
        return Math.min(byMonotonic, byWall);
    }

    private void order(Moment now) {
        if (!ordered) {
            ordered = true;
            killAt = now.nanos() + ending.killAfter().toNanos();
        }
    }

    private void kill(Moment now) {
        if (!killed) {
            killed = true;
            killedAt = now.nanos();
        }
        hands.kill();
        ordered = true;
        killAt = now.nanos() + KILL_AGAIN_NANOS;
    }
}
