package dev.palisade.check;

/**
 * Report about one grant to a client: accepted, or refused for good. Times are of one machine's monotonic clock.
 *
 * @param source of the report; sources are checked separately
 * @param sentNanos before the request was sent; 0 if unknown
 * @param answeredNanos after the reply
 * @param ended whether the grant was refused for good; otherwise it was accepted
 * @param what for people
 */
public record GrantReport(
        String client,
        String lock,
        long token,
        String grant,
        Source source,
        long sentNanos,
        long answeredNanos,
        boolean ended,
        String what) {
    /** The component that reports. */
    public enum Source {
        SERVER,
        /** Source itself, when time or the server ends a lease. */
        SDK,
        GUARD
    }

    @Override
    public String toString() {
        return client + "'s " + what + " of " + lock + " under token " + token;
    }
}
