package dev.palisade.client;

/** A one-shot timer that wakes the {@link Loop}. Nothing else in the client waits for time to pass. */
interface WakeupTimer {
    /** Runs {@code wake} once after the delay, in place of an earlier request. It may also run early or twice. */
    void wakeIn(long delayNanos, Runnable wake);

    /** Cancels the request. No later one follows. */
    void stop();
}
