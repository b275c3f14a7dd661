package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;

/** The lease does not hold for as long as was asked. Stop, acquire again, read again, redo. */
public final class LeaseLostException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final LostReason reason;

    LeaseLostException(LockName lock, FencingToken token, LostReason reason) {
        super("lease of " + lock + " (token " + token + ") cannot be counted on: " + reason
                + "; stop, acquire again and redo the work");
        this.reason = reason;
    }

    /** Why. */
    public LostReason reason() {
        return reason;
    }
}
