package dev.palisade.check;

/**
 * Somebody waited for a lock. Times are one machine's monotonic clock.
 *
 * @param client who; alive all the time
 * @param op names the acquire
 * @param untilNanos when it was granted, or gave up
 */
public record Wait(String client, String lock, String op, long askedNanos, long untilNanos) {}
