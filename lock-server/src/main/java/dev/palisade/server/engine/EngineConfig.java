package dev.palisade.server.engine;

/**
 * @param issuer the name of this lock service in every sequencer it signs
 * @param graceMillis how long after its stream broke a client's leases are freed
 * @param locksPerSessionMax held or waited for on one stream; LIMIT_EXCEEDED beyond
 * @param sessionsMax sessions with a stream, or in grace with something to lose; LIMIT_EXCEEDED beyond
 */
public record EngineConfig(String issuer, long graceMillis, int locksPerSessionMax, int sessionsMax) {}
