package dev.palisade.incidents;

/**
 * Term of one node as the primary, by the machine's monotonic clock. Between two terms a replica is being promoted;
 * tokens of that time only have to be unique.
 *
 * @param node its name
 * @param untilNanos right before the promotion of its successor, {@link Long#MAX_VALUE} for the current primary
 */
record PrimaryTerm(String node, long fromNanos, long untilNanos) {}
