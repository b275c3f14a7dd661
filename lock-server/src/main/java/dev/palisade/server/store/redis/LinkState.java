package dev.palisade.server.store.redis;

import java.time.Duration;

/**
 * Whether Redis can be asked, for people and for health.
 *
 * @param up whether every primary is linked
 * @param primary the address of the primary, of several joined by commas; empty if none is linked
 * @param version as in "Redis 7.0.15"; empty if none is linked
 * @param replicationId of the primary's data; in a cluster of its first; empty if none is linked
 * @param since how long it has been up, or not
 * @param lastFailure one line; empty if there was none
 */
public record LinkState(
        boolean up, String primary, String version, String replicationId, Duration since, String lastFailure) {}
