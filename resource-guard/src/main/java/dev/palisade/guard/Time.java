package dev.palisade.guard;

/** The guard's clocks and its alarms, so that a test can be both. */
interface Time {
    /** Nanoseconds on a monotonic clock. */
    long nanos();

    /** Milliseconds since 1970, for people. */
    long millis();

    /**
     * Runs {@code what}, which does not block, when {@link #nanos} has reached {@code atNanos}.
     *
     * @return takes it back
     */
    Runnable at(long atNanos, Runnable what);

    /** Takes no more alarms; those that were set still go off, so that whoever waits is told. */
    void stop();
}
