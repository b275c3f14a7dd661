package dev.palisade.contract;

/**
 * Base of every exception that Palisade throws for something that happened at run time: at the lock service, at a guard, or to a
 * lease. A program that passes in a value that can never be right gets an {@link IllegalArgumentException}, and one that uses
 * something closed an {@link IllegalStateException}; an interrupted wait throws {@link InterruptedException}. Those three are not of
 * this family. Serializable with all that it carries. Immutable but for its stack trace and suppressed exceptions.
 */
public abstract sealed class PalisadeException extends RuntimeException
        permits RejectedException, LockNotAcquiredException, LockUnavailableException, LeaseLostException {
    private static final long serialVersionUID = 1L;

    PalisadeException(String message) {
        super(message);
    }
}
