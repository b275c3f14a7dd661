package dev.palisade.server.engine;

/**
 * How many locks the sender of an acquire may use.
 *
 * @param principal empty without authentication: nothing is counted then
 * @param locksMax requests at a time that hold a lock or wait for one; LIMIT_EXCEEDED beyond
 * @param waitersMax of these, requests that wait
 */
public record LockQuota(String principal, int locksMax, int waitersMax) {
    /** Of a server without authentication. */
    public static final LockQuota NONE = new LockQuota("", Integer.MAX_VALUE, Integer.MAX_VALUE);
}
