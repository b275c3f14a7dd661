package dev.palisade.check;

/**
 * Lease during the time in which its client assumed it. Times are of one machine's monotonic clock.
 *
 * @param client name of the client
 * @param grant id in hexadecimal digits
 * @param fromNanos right after the reply that granted it
 * @param untilNanos when the client released it, was notified of its loss, or died; otherwise the deadline after the
 *     last confirmation that the client has received
 * @param freedEarly whether the lock server ended the lease before that, because its client seemed dead or an operator
 *     ended it
 */
public record Held(
        String client,
        String lock,
        boolean shared,
        long token,
        String grant,
        long fromNanos,
        long untilNanos,
        boolean freedEarly) {
    @Override
    public String toString() {
        return client + "'s lease of " + lock + " with token " + token;
    }
}
