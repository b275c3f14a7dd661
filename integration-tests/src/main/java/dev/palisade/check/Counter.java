package dev.palisade.check;

/**
 * Final state of a counter object.
 *
 * @param value number of counted increments; 0 if it was never written
 * @param contentHash SHA-256 of its content; empty when it was never written
 */
public record Counter(String key, long value, String contentHash) {}
