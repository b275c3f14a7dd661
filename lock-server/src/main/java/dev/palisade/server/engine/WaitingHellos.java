package dev.palisade.server.engine;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Clients that came while this server is about to take over. They wait, because a fleet that is rejected and asks again takes time from the
 * takeover. Safe for use by many threads.
 */
final class WaitingHellos {
    private static final long LONGEST_MILLIS = 10_000;
    /** Signs of life for each patience of a client. */
    private static final int SIGNS = 4;

    private static final long INTERVAL_MIN_MILLIS = 50;
    private static final long INTERVAL_MAX_MILLIS = 1_000;

    private final BooleanSupplier isTakeover;
    private final Timer timer;
    /** In the order in which they came. */
    private final Set<Waiting> all = new LinkedHashSet<>();

    private static final class Waiting {
        final WaitingHello hello;
        final long intervalMillis;
        long leftMillis = LONGEST_MILLIS;

        Waiting(WaitingHello hello, long intervalMillis) {
            this.hello = hello;
            this.intervalMillis = intervalMillis;
        }
    }

    WaitingHellos(BooleanSupplier isTakeover, Timer timer) {
        this.isTakeover = isTakeover;
        this.timer = timer;
    }

    /**
     * Has the client wait until the takeover is over, for 10 s at most.
     *
     * @param patienceMillis after so long without a sign of life it waits no more; 0 or less: it does not wait at all
     * @param hello notified on the timer
     * @return false: there is nothing to wait for, and {@code hello} is not notified
     */
    boolean await(long patienceMillis, WaitingHello hello) {
        if (patienceMillis <= 0 || !isTakeover.getAsBoolean()) {
            return false;
        }
        Waiting one = new Waiting(
                hello, Math.max(INTERVAL_MIN_MILLIS, Math.min(INTERVAL_MAX_MILLIS, patienceMillis / SIGNS)));
        synchronized (all) {
            all.add(one);
        }
        timer.after(0, () -> wait(one));
        if (!isTakeover.getAsBoolean()) { // It ended meanwhile, perhaps before this one was known.
            over();
        }
        return true;
    }

    private void wait(Waiting one) {
        boolean waits;
        synchronized (all) {
            waits = all.contains(one);
        }
        if (!waits) {
            return;
        }
        if (one.leftMillis <= 0 || !isTakeover.getAsBoolean() || !one.hello.sendSign()) {
            end(one);
            return;
        }
        one.leftMillis -= one.intervalMillis;
        timer.after(one.intervalMillis, () -> wait(one));
    }

    /** The takeover is over. Returns at once. */
    void over() {
        timer.after(0, () -> {
            List<Waiting> now;
            synchronized (all) {
                now = new ArrayList<>(all);
            }
            now.forEach(each -> timer.after(0, () -> end(each))); // One that fails keeps no other back.
        });
    }

    private void end(Waiting one) {
        boolean first;
        synchronized (all) {
            first = all.remove(one);
        }
        if (first) {
            one.hello.proceed();
        }
    }
}
