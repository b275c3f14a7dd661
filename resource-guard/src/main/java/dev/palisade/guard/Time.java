package dev.palisade.guard;

/** Clocks and timers of a guard. A test replaces both. */
interface Time {
    /** Nanoseconds on a monotonic clock. */
    long nanos();

    /** Milliseconds since 1970, informational only. */
    long millis();

    /**
     * Runs {@code what}, which does not block, when {@link #nanos} has reached {@code atNanos}.
     *
     * @return cancels the timer
     */
    Runnable at(long atNanos, Runnable what);

    /** Accepts no more timers. Timers that were set still run, so that waiting calls end. */
    void stop();
}
