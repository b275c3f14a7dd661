package dev.palisade.client;

/**
 * A reading of both clocks at one time. A lease ends as soon as either clock says so.
 *
 * @param nanos monotonic, of no fixed origin
 * @param wallMillis since 1970
 */
record ClockReading(long nanos, long wallMillis) {}
