package dev.palisade.contract;

/**
 * No lock server could answer within the time given, or it can grant nothing now. Nothing is held; {@link #rejection()} says why and
 * when a retry is sensible.
 */
public final class LockUnavailableException extends PalisadeException {
    private static final long serialVersionUID = 1L;

    private final Rejection rejection;

    /** For a lock. */
    public LockUnavailableException(LockName lock, Rejection rejection) {
        this("lock " + lock, rejection);
    }

    /** @param about what was asked about, the first words of the message */
    public LockUnavailableException(String about, Rejection rejection) {
        super(about + ": " + rejection.reason() + ": " + rejection.message());
        this.rejection = rejection;
    }

    /** Why, as a value. */
    public Rejection rejection() {
        return rejection;
    }
}
