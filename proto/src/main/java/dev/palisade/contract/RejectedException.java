package dev.palisade.contract;

/** A {@link Rejection} on its way to whoever answers for it. Unchecked: most reasons are bugs or end the work at hand. */
public final class RejectedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Rejection rejection;

    public RejectedException(Rejection rejection) {
        super(rejection.reason() + ": " + rejection.message());
        this.rejection = rejection;
    }

    /** A request that can never be right. */
    public static RejectedException malformed(String message) {
        return new RejectedException(new Rejection(Reason.MALFORMED_REQUEST, message));
    }

    public Rejection rejection() {
        return rejection;
    }

    public Reason reason() {
        return rejection.reason();
    }
}
