package dev.palisade.server.engine;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Clients that came while this server is about to take over. They wait, because a fleet that is rejected and asks again takes time from the
 * takeover. Afterwards those with leases take turns: if all resumed at once, the first would be done hardly sooner than the last, and
 * clients whose leases end meanwhile would begin anew. Safe for use by many threads.
 */
final class WaitingHellos {
    /** Limit of the leases of all clients whose turn it is. */
    static final int RESUMES_MAX = 4_096;
    /** Limit of what one client counts for, so that a client with more leases has a turn, too. */
    static final int RESUMES_OF_ONE_MAX = 1_024;

    /** Longest turn: a client that has announced leases may resume none. */
    static final long TURN_MILLIS = 1_000;

    private static final long LONGEST_MILLIS = 10_000;
    /** Signs of life for each patience of a client. */
    private static final int SIGNS = 4;

    private static final long INTERVAL_MIN_MILLIS = 50;
    private static final long INTERVAL_MAX_MILLIS = 1_000;

    private final BooleanSupplier isTakeover;
    private final Timer timer;
    /** In the order in which they came. */
    private final Set<Waiting> all = new LinkedHashSet<>();
    /** Number of leases of the clients whose turn it is. */
    private int resumes;

    private static final class Waiting {
        final WaitingHello hello;
        final long intervalMillis;
        final int resumes;
        long leftMillis = LONGEST_MILLIS;
        boolean isResumed;

        Waiting(WaitingHello hello, long intervalMillis, int resumes) {
            this.hello = hello;
            this.intervalMillis = intervalMillis;
            this.resumes = resumes;
        }
    }

    WaitingHellos(BooleanSupplier isTakeover, Timer timer) {
        this.isTakeover = isTakeover;
        this.timer = timer;
    }

    /**
     * Has the client wait until the takeover is over and it is its turn, for 10 s at most.
     *
     * @param patienceMillis after so long without a sign of life it waits no more; 0 or less: it does not wait at all
     * @param resumes how many leases it will resume
     * @param hello notified on the timer
     * @return false: there is nothing to wait for, and {@code hello} is not notified
     */
    boolean await(long patienceMillis, int resumes, WaitingHello hello) {
        if (patienceMillis <= 0 || !(isTakeover.getAsBoolean() || (resumes > 0 && isCrowded()))) {
            return false;
        }
        Waiting one = new Waiting(
                hello,
                Math.max(INTERVAL_MIN_MILLIS, Math.min(INTERVAL_MAX_MILLIS, patienceMillis / SIGNS)),
                Math.max(0, Math.min(RESUMES_OF_ONE_MAX, resumes)));
        synchronized (all) {
            all.add(one);
        }
        timer.after(0, () -> wait(one));
        if (!isTakeover.getAsBoolean()) { // It ended meanwhile, perhaps before this one was known.
            over();
        }
        return true;
    }

    private boolean isCrowded() {
        synchronized (all) {
            return !all.isEmpty();
        }
    }

    private void wait(Waiting one) {
        boolean waits;
        boolean hasNoTurn;
        synchronized (all) {
            waits = all.contains(one);
            hasNoTurn = resumes == 0;
        }
        if (!waits) {
            return;
        }
        if (one.leftMillis <= 0 || !one.hello.sendSign()) {
            end(one);
            return;
        }
        if (hasNoTurn && !isTakeover.getAsBoolean()) {
            takeTurns();
        }
        one.leftMillis -= one.intervalMillis;
        timer.after(one.intervalMillis, () -> wait(one));
    }

    /** The takeover is over. Returns at once. */
    void over() {
        timer.after(0, this::takeTurns);
    }

    private void takeTurns() {
        List<Waiting> next = new ArrayList<>();
        synchronized (all) {
            boolean isFull = false;
            for (Iterator<Waiting> waiting = all.iterator(); waiting.hasNext(); ) {
                Waiting one = waiting.next();
                isFull = isFull || resumes + one.resumes > RESUMES_MAX;
                if (one.resumes == 0 || !isFull) {
                    waiting.remove();
                    resumes += one.resumes;
                    next.add(one);
                }
            }
        }
        next.forEach(each -> timer.after(0, () -> proceed(each))); // One that fails keeps no other back.
    }

    private void end(Waiting one) {
        synchronized (all) {
            if (!all.remove(one)) {
                return;
            }
            resumes += one.resumes;
        }
        proceed(one);
    }

    private void proceed(Waiting one) {
        if (one.resumes > 0) {
            timer.after(TURN_MILLIS, () -> resumed(one));
        }
        one.hello.proceed(() -> resumed(one));
    }

    private void resumed(Waiting one) {
        synchronized (all) {
            if (one.isResumed) {
                return;
            }
            one.isResumed = true;
            resumes -= one.resumes;
            if (one.resumes == 0 || all.isEmpty()) {
                return;
            }
        }
        over();
    }
}
