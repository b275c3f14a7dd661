package dev.palisade.check;

/**
 * Increment of a counter object, from the client's point of view.
 *
 * @param op unique name
 * @param contentHash SHA-256 of the content, which contains {@code op}
 */
public record Increment(String op, String key, String contentHash, Fate fate) {
    /** The outcome that the client knows. */
    public enum Fate {
        /** Applied. */
        ACKNOWLEDGED,
        /** Refused, and certainly not applied. */
        REFUSED,
        /** No reply, or an inconclusive one. */
        UNKNOWN
    }
}
