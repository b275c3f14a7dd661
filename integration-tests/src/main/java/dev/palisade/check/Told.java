package dev.palisade.check;

/**
 * What a client was told about one of its grants. Times are one machine's monotonic clock.
 *
 * @param by who told, each of whom judges a grant by itself
 * @param sentNanos before the question was sent; 0 if that is not known
 * @param answeredNanos after it was answered
 * @param over whether the grant was refused for good; otherwise it was accepted
 * @param what for the reader
 */
public record Told(
        String client,
        String lock,
        long token,
        String grant,
        By by,
        long sentNanos,
        long answeredNanos,
        boolean over,
        String what) {
    /** Who tells. */
    public enum By {
        SERVER,
        /** By itself, when time or the server ends a lease. */
        SDK,
        GUARD
    }

    @Override
    public String toString() {
        return client + "'s " + what + " of " + lock + " under token " + token;
    }
}
