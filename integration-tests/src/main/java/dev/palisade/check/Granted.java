package dev.palisade.check;

/**
 * A grant as its client was told. Both times are one machine's monotonic clock.
 *
 * @param client who
 * @param grant the grant in hexadecimal digits
 * @param askedNanos right before the client asked
 * @param answeredNanos right after it was answered
 */
public record Granted(
        String client, String lock, boolean shared, long token, String grant, long askedNanos, long answeredNanos) {
    @Override
    public String toString() {
        return client + "'s grant of " + lock + " with token " + token;
    }
}
