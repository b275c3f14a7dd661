package dev.palisade.check;

/**
 * Wait of a client for a lock. Times are of one machine's monotonic clock.
 *
 * @param client alive all the time
 * @param op name of the acquire
 * @param untilNanos time of the grant or of giving up
 */
public record Wait(String client, String lock, String op, long askedNanos, long untilNanos) {}
