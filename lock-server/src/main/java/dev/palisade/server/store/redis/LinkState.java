package dev.palisade.server.store.redis;

/**
 * The state of the link to Redis.
 *
 * @param up whether every primary is linked
 * @param primary the address of the primary, of several joined by commas; empty if none is linked
 * @param replicationId of the primary's data; in a cluster of its first; empty if none is linked
 * @param lastFailure one line; empty if there was none
 */
record LinkState(boolean up, String primary, String replicationId, String lastFailure) {}
