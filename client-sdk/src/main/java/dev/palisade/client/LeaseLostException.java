package dev.palisade.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The lease does not hold for as long as was asked. Stop, acquire again, read again, redo. */
public final class LeaseLostException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final LostReason reason;

    @Nullable
    private final transient Object result;

    LeaseLostException(Grant grant, LostReason reason) {
        super("lease of " + grant.lock() + " (token " + grant.token() + ") cannot be counted on: " + reason
                + "; stop, acquire again and redo the work");
        this.reason = reason;
        this.result = null;
    }

    /** @param result of work that ended under a lease that was over */
    LeaseLostException(Grant grant, LostReason reason, @Nullable Object result) {
        super(
                "lease of " + grant.lock() + " (token " + grant.token() + ") was lost before its work had ended: "
                        + reason
                        + "; the work is done and may be unprotected: acquire again, read again and redo what a guard did not refuse");
        this.reason = reason;
        this.result = result;
    }

    /** Why. */
    public LostReason reason() {
        return reason;
    }

    /**
     * What the work returned that was run by {@link PalisadeClient#callLocked}: it has ended, but not certainly before another holder's
     * work began. Empty when it returned nothing, or no such work was run.
     */
    public Optional<Object> result() {
        return Optional.ofNullable(result);
    }
}
