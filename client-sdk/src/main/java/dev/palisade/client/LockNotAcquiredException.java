package dev.palisade.client;

import dev.palisade.contract.LockName;

/** The lock was busy, or the wait for it ended. {@link #result()} says which; waiting longer may help. */
public final class LockNotAcquiredException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient AcquireResult result;

    LockNotAcquiredException(LockName lock, AcquireResult result) {
        super(message(lock, result));
        this.result = result;
    }

    /** {@link AcquireResult.Busy} or {@link AcquireResult.TimedOut}. */
    public AcquireResult result() {
        return result;
    }

    private static String message(LockName lock, AcquireResult result) {
        if (result instanceof AcquireResult.Busy busy) {
            long millis = busy.remaining().toMillis();
            // A lease is renewed as long as its holder lives: its end says nothing about when the lock is free.
            String by = busy.holder()
                    .map(holder -> " held by " + holder.owner() + " (token " + holder.token()
                            + ") until it is released or not renewed for " + millis + " ms, ")
                    .orElse(" closed or promised to a waiter for up to " + millis + " ms, ");
            return "lock " + lock + " is" + by + busy.waiters() + " waiting; wait for it or try later";
        }
        return "lock " + lock + " was not granted within the wait; wait longer or look at its holder with describe";
    }
}
