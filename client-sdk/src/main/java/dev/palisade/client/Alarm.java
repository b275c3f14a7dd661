package dev.palisade.client;

/** Wakes the loop: the only thing in the client that waits for time to pass. */
interface Alarm {
    /** Runs {@code wake} once after the delay; replaces what was asked for before. It may also come early or twice. */
    void wakeIn(long delayNanos, Runnable wake);

    /** Nothing more is wanted. */
    void stop();
}
