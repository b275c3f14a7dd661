package dev.palisade.check;

/**
 * Grant from the point of view of its client. Times are of one machine's monotonic clock.
 *
 * @param client name of the client
 * @param grant id in hexadecimal digits
 * @param askedNanos right before the request
 * @param answeredNanos right after the reply
 */
public record Granted(
        String client, String lock, boolean shared, long token, String grant, long askedNanos, long answeredNanos) {
    @Override
    public String toString() {
        return client + "'s grant of " + lock + " with token " + token;
    }
}
