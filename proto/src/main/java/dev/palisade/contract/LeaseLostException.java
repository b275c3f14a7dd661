package dev.palisade.contract;

/** The lease does not hold for as long as was asked. Stop, acquire again, read again, redo. */
public final class LeaseLostException extends PalisadeException {
    private static final long serialVersionUID = 1L;

    private final LockName lock;
    private final FencingToken token;
    private final LostReason reason;

    private LeaseLostException(String message, LockName lock, FencingToken token, LostReason reason) {
        super(message);
        this.lock = lock;
        this.token = token;
        this.reason = reason;
    }

    /** The lease is lost, or was not confirmed in time. */
    public static LeaseLostException notHeld(LockName lock, FencingToken token, LostReason reason) {
        String message = "lease of " + lock + " (token " + token + ") cannot be counted on: " + reason
                + "; stop, acquire again and redo the work";
        return new LeaseLostException(message, lock, token, reason);
    }

    /** The lease was lost before the work under it had ended; the work itself is done. */
    public static LeaseLostException beforeWorkEnded(LockName lock, FencingToken token, LostReason reason) {
        String message = "lease of " + lock + " (token " + token + ") was lost before its work had ended: " + reason
                + "; the work is done and may be unprotected: acquire again, read again and redo what a guard did not refuse";
        return new LeaseLostException(message, lock, token, reason);
    }

    /** Which lock. */
    public LockName lock() {
        return lock;
    }

    /** Of the lease that was lost. */
    public FencingToken token() {
        return token;
    }

    /** Why. */
    public LostReason reason() {
        return reason;
    }
}
