package dev.palisade.client;

import dev.palisade.contract.Reason;

/** The action of the client on a rejection by the lock server: the SDK column of the table of reasons. Pure. */
enum RejectionAction {
    /** Throw an exception: a bug or a missing right, which only the author of the program can fix. */
    THROW,
    /** Treat the lease as lost. */
    LEASE_LOST,
    /** Report to the caller, which decides when to try again. */
    REPORT,
    /** Retry with a new request: nothing was applied, and the same may work soon. */
    RETRY,
    /** Resend the same request: it may have been applied, and a repeated request gets the same reply. */
    RESEND;

    static RejectionAction of(Reason reason) {
        return switch (reason) {
            case MALFORMED_REQUEST,
                    UNAUTHENTICATED,
                    PERMISSION_DENIED,
                    SEQUENCER_MISSING,
                    SEQUENCER_INVALID,
                    WRONG_RESOURCE,
                    MODE_NOT_ALLOWED -> THROW;
            case SESSION_UNKNOWN, NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED, TOKEN_STALE -> LEASE_LOST;
            case QUEUE_FULL, LIMIT_EXCEEDED, TOKENS_EXHAUSTED -> REPORT;
            case DRAINING, MARK_UNAVAILABLE, RECOVERING, SUSPECT_PRIMARY, STORE_UNAVAILABLE, NOT_ACTIVE -> RETRY;
            case OUTCOME_UNKNOWN -> RESEND;
        };
    }
}
