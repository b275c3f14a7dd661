package dev.palisade.server.store;

/** A store could not do a command. */
public final class StoreFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean outcomeUnknown;

    private StoreFailure(String message, boolean outcomeUnknown) {
        super(message);
        this.outcomeUnknown = outcomeUnknown;
    }

    /** Nothing was done and nothing will be. */
    public static StoreFailure unavailable(String message) {
        return new StoreFailure(message, false);
    }

    /** The command may or may not take effect. */
    public static StoreFailure outcomeUnknown(String message) {
        return new StoreFailure(message, true);
    }

    public boolean isOutcomeUnknown() {
        return outcomeUnknown;
    }
}
