package dev.palisade.check;

/**
 * A counter object at the end of the run.
 *
 * @param value how many increments it counted; 0 when it was never written
 * @param contentHash SHA-256 of its content; empty when it was never written
 */
public record Counter(String key, long value, String contentHash) {}
