package dev.palisade.server.engine;

/**
 * Sums over the sessions of this server.
 *
 * @param connected sessions with a stream
 * @param inGrace sessions whose stream broke and whose grace runs
 * @param leases of all these sessions
 * @param waiting requests of all these sessions that wait, were offered the lock or are being decided
 */
public record SessionTotals(int connected, int inGrace, long leases, long waiting) {}
