package dev.palisade.server.core;

/** The one place where a lock changes: time first, then the command, then the hand-off. Pure. */
public final class LockMachine {
    /** Tokens that an epoch has for each millisecond of its clock before they run ahead of it. */
    public static final long TOKENS_PER_MILLI = 4096;

    private LockMachine() {}

    /**
     * Decides {@code command} in a store that lost nothing.
     *
     * @param nowMillis the store's time; never less than in an earlier step of the same store
     * @param lastToken the last token issued in the lock's domain; the next grant's is larger
     */
    public static Decision step(LockState state, Command command, long nowMillis, long lastToken, Limits limits) {
        return step(state, command, nowMillis, lastToken, 0, limits);
    }

    /**
     * Decides {@code command} in a store that may have lost leases: until {@code recoveringUntilMillis} nobody is granted
     * anything new, and holders that the store no longer knows {@link Reclaim} what they have.
     */
    public static Decision step(
            LockState state,
            Command command,
            long nowMillis,
            long lastToken,
            long recoveringUntilMillis,
            Limits limits) {
        Step step = new Step(state, nowMillis, lastToken, recoveringUntilMillis, limits);
        step.passTime();
        Answer answer = command.decide(step);
        step.handOff();
        return step.decision(answer);
    }

    /**
     * The base of a new epoch: every token of it is larger. The clock when it is ahead of everything that was issued, else
     * well above that, at a place that another history is unlikely to choose.
     *
     * @param millisSince2024 the clock
     * @param high the largest token known to have been issued
     * @param epochId at least 12 random bits
     */
    public static long epochBase(long millisSince2024, long high, int epochId) {
        long clock = Math.multiplyExact(millisSince2024, TOKENS_PER_MILLI);
        if (clock > high) {
            return clock;
        }
        long aligned = ((high >> 24) + 1) << 24;
        return aligned + (epochId & 0xfffL) * 4096L;
    }
}
