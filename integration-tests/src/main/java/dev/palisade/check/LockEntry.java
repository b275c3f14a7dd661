package dev.palisade.check;

/**
 * Entry of the lock server's history of a lock.
 *
 * @param stretch number of the gapless part of the history
 * @param what a term of the command reference
 * @param token 0 if the request has none yet
 * @param grant id of the actual or possible grant of the request, in hexadecimal digits
 * @param detail the purpose of what was queued or granted
 * @param seenNanos when it was polled, on this machine's monotonic clock
 */
public record LockEntry(
        String lock, int stretch, String what, long token, String grant, String owner, String detail, long seenNanos) {
    @Override
    public String toString() {
        return what + " of " + lock + " by " + owner + " (" + (token == 0 ? "no token yet" : "token " + token)
                + ", grant " + grant + ")";
    }
}
