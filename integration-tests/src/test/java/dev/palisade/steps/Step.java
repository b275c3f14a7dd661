package dev.palisade.steps;

/**
 * Where a write stands when the fault comes.
 *
 * @param number which round trip to the register; 0 where there is none
 */
record Step(Phase phase, int number, Side side) {
    /** In the order of a call, except the last. */
    enum Phase {
        /**
         * At a round trip of its guard to the register, to enter or to leave. At the first one it has been received, and nothing
         * was done about it; at the last one it has left.
         */
        REGISTER,
        /** Admitted and sent; it is in the network. */
        SENT,
        /** Its headers are at the service. */
        RECEIVED,
        /** Half of its body is at the service; its client has not sent the rest. */
        HALF,
        /** It is at the service, and not applied. */
        WHOLE,
        /** It is applied, and not answered. */
        APPLIED,
        /** It is over. */
        LEFT,
        /** It is at the service, and its guard at a round trip of its own: it renews, observes others, or watches marks. */
        GUARD
    }

    static Step at(Phase phase) {
        return new Step(phase, 0, Side.REQUEST);
    }

    boolean isAtRegister() {
        return number > 0;
    }

    @Override
    public String toString() {
        return isAtRegister() ? phase + " " + number + " " + side : phase.toString();
    }
}
