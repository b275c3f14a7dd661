package dev.palisade.server.store;

/** A store cannot be used as it is. The message is one line that says what, where and what to do. */
public final class StoreUnusable extends Exception {
    private static final long serialVersionUID = 1L;

    public StoreUnusable(String message) {
        super(message);
    }

    public StoreUnusable(String message, Throwable cause) {
        super(message, cause);
    }
}
