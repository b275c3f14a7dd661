package dev.palisade.server.core;

/**
 * A request in the queue.
 *
 * @param waitUntilMillis when it stops waiting
 * @param aliveUntilMillis when it is given up for dead unless it is heard of again
 * @param lapse what became of an earlier offer
 */
public record Waiter(Request request, long queuedAtMillis, long waitUntilMillis, long aliveUntilMillis, Lapse lapse) {
    /** A waiter that let an offer lapse gets one more, after the one behind it had its turn. */
    public enum Lapse {
        /** Never let an offer lapse. */
        NONE,
        /** Let one lapse; the next offer goes to the one behind. */
        STEPS_BACK,
        /** Let one lapse; the next offer is its last. */
        LAST_CHANCE
    }

    Waiter withLapse(Lapse changed) {
        return new Waiter(request, queuedAtMillis, waitUntilMillis, aliveUntilMillis, changed);
    }

    Waiter withAliveUntil(long millis) {
        return new Waiter(request, queuedAtMillis, waitUntilMillis, millis, lapse);
    }

    Waiter keptAlive(long sessionGen, long aliveUntil) {
        return new Waiter(
                request.withSessionGen(Math.max(sessionGen, request.sessionGen())),
                queuedAtMillis,
                waitUntilMillis,
                Math.max(aliveUntil, aliveUntilMillis),
                lapse);
    }
}
