package dev.palisade.client;

/**
 * One moment by both clocks, so that a lease can end when either says so.
 *
 * @param nanos monotonic, of no fixed origin
 * @param wallMillis since 1970
 */
record Moment(long nanos, long wallMillis) {}
