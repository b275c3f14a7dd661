package dev.palisade.incidents;

/**
 * One node's time as the primary, by the machine's monotonic clock. Between the end of one and the beginning of the next a replica is
 * being promoted, and nothing is claimed about tokens of that moment but that they are unique.
 *
 * @param node its name
 * @param untilNanos right before its successor was promoted, {@link Long#MAX_VALUE}: still the primary
 */
record Reign(String node, long fromNanos, long untilNanos) {}
