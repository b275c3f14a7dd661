package dev.palisade.check;

/**
 * One entry of the lock server's own history of a lock; in its order.
 *
 * @param stretch entries of one stretch follow each other without a gap; between two stretches something may be missing
 * @param what a word of the reference of commands
 * @param token 0: the request had none yet
 * @param grant the grant that the request had or would have had, in hexadecimal digits
 * @param detail the purpose of what was queued or granted
 * @param seenNanos when the server told it, on this machine's monotonic clock
 */
public record LockEntry(
        String lock, int stretch, String what, long token, String grant, String owner, String detail, long seenNanos) {
    @Override
    public String toString() {
        return what + " of " + lock + " by " + owner + " (" + (token == 0 ? "no token yet" : "token " + token)
                + ", grant " + grant + ")";
    }
}
