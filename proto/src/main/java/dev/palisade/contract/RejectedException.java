package dev.palisade.contract;

/**
 * A {@link Rejection} as an exception: the lock service or a guard refused the request and will refuse it again. Repeating it as it is
 * does not help, except where its {@link Reason} says so.
 */
public final class RejectedException extends PalisadeException {
    private static final long serialVersionUID = 1L;

    private final Rejection rejection;

    public RejectedException(Rejection rejection) {
        super(rejection.reason() + ": " + rejection.message());
        this.rejection = rejection;
    }

    /** A request that can never be right. */
    public static RejectedException malformed(String message) {
        return new RejectedException(new Rejection(Reason.MALFORMED_REQUEST, message));
    }

    /** Why, with the words for a person and the metadata for a program. */
    public Rejection rejection() {
        return rejection;
    }

    /** Why, as one of the closed list. */
    public Reason reason() {
        return rejection.reason();
    }
}
