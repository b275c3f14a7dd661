package dev.palisade.server.store;

/** A store could not do a command. */
public final class StoreFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What is known of the command. */
    public enum Kind {
        /** Nothing was done and nothing will be. */
        UNAVAILABLE,
        /** Nothing was done here: another lock server owns the store's log, or none does. */
        NOT_ACTIVE,
        /** The command may or may not take effect. */
        OUTCOME_UNKNOWN
    }

    private final Kind kind;
    private final String activeAddress;
    private final boolean isTakeover;

    private StoreFailure(Kind kind, String message, String activeAddress, boolean isTakeover) {
        super(message);
        this.kind = kind;
        this.activeAddress = activeAddress;
        this.isTakeover = isTakeover;
    }

    /** Nothing was done and nothing will be. */
    public static StoreFailure unavailable(String message) {
        return new StoreFailure(Kind.UNAVAILABLE, message, "", false);
    }

    /**
     * Nothing was done here.
     *
     * @param activeAddress where clients reach the server that is active; empty if that is not known
     * @param isTakeover whether this server or another one will be active within seconds
     */
    public static StoreFailure notActive(String message, String activeAddress, boolean isTakeover) {
        return new StoreFailure(Kind.NOT_ACTIVE, message, activeAddress, isTakeover);
    }

    /** The command may or may not take effect. */
    public static StoreFailure outcomeUnknown(String message) {
        return new StoreFailure(Kind.OUTCOME_UNKNOWN, message, "", false);
    }

    public Kind kind() {
        return kind;
    }

    public boolean isOutcomeUnknown() {
        return kind == Kind.OUTCOME_UNKNOWN;
    }

    /** Of {@link Kind#NOT_ACTIVE}: where clients reach the active server. Empty if that is not known. */
    public String activeAddress() {
        return activeAddress;
    }

    /** Of {@link Kind#NOT_ACTIVE}: whether this server or another one will be active within seconds. */
    public boolean isTakeover() {
        return isTakeover;
    }
}
