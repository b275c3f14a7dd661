package dev.palisade.check;

/**
 * One increment of a counter object, as its client knows it.
 *
 * @param op names it; no other has this name
 * @param contentHash SHA-256 of what was to be written, which holds {@code op}
 */
public record Increment(String op, String key, String contentHash, Fate fate) {
    /** What the client was told. */
    public enum Fate {
        /** Applied. */
        ACKNOWLEDGED,
        /** Refused, and the refusal said that it was not applied. */
        REFUSED,
        /** No answer, or one that leaves it open. */
        UNKNOWN
    }
}
