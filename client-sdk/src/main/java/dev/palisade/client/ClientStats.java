package dev.palisade.client;

/**
 * The state of a client a moment ago, for metrics.
 *
 * @param leases leases that are held; a lease with several handles counts once
 * @param waiting acquires without a result yet, in a queue or on their way
 * @param reconnects sessions with a server after the first, since the client was built
 */
public record ClientStats(int leases, int waiting, long reconnects) {}
