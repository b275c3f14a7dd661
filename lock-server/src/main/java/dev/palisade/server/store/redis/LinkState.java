package dev.palisade.server.store.redis;

/**
 * The state of the link to Redis.
 *
 * @param up whether the primary is linked
 * @param primary the primary's address; empty if none is linked
 * @param replicationId of the primary's data; empty if none is linked
 * @param lastFailure one line; empty if there was none
 */
record LinkState(boolean up, String primary, String replicationId, String lastFailure) {}
