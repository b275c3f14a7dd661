package dev.palisade.client;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Rejection;

/** No server could answer for a lock. Nothing is held; {@link #rejection()} says why and when a retry is sensible. */
public final class LockUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Rejection rejection;

    LockUnavailableException(LockName lock, Rejection rejection) {
        this("lock " + lock, rejection);
    }

    /** @param about what could not be told of */
    LockUnavailableException(String about, Rejection rejection) {
        super(about + ": " + rejection.reason() + ": " + rejection.message());
        this.rejection = rejection;
    }

    /** Why, as a value. */
    public Rejection rejection() {
        return rejection;
    }
}
