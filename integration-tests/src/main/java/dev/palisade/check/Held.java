package dev.palisade.check;

/**
 * A lease for as long as its client believed in it. Times are one machine's monotonic clock.
 *
 * @param client who
 * @param grant the grant in hexadecimal digits
 * @param fromNanos right after the client was told that it holds the lock
 * @param untilNanos when it stopped believing: it released, was told that the lease is lost, or died; otherwise its own
 *     deadline as of the last confirmation it has seen
 * @param freedEarly whether the lock server ended the lease before that, as it may: for a client it took for dead, or because an
 *     operator said so
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
