package dev.palisade.client;

import dev.palisade.contract.Reason;

/** What the client does about a refusal by the lock server: the SDK column of the table of reasons. Pure. */
enum Remedy {
    /** A bug or a missing right: nothing but the program's author can help. */
    THROW,
    /** The lock this was about is lost. */
    LOST,
    /** The caller is told and decides when to come back. */
    TELL,
    /** Nothing was done; the same may work in a moment. */
    RETRY,
    /** It may have been done: the same request again gets the same answer. */
    ASK_AGAIN;

    static Remedy of(Reason reason) {
        return switch (reason) {
            case MALFORMED_REQUEST,
                    UNAUTHENTICATED,
                    PERMISSION_DENIED,
                    SEQUENCER_MISSING,
                    SEQUENCER_INVALID,
                    WRONG_RESOURCE,
                    MODE_NOT_ALLOWED -> THROW;
            case SESSION_UNKNOWN, NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED, TOKEN_STALE -> LOST;
            case QUEUE_FULL, LIMIT_EXCEEDED, TOKENS_EXHAUSTED -> TELL;
            case DRAINING, MARK_UNAVAILABLE, RECOVERING, SUSPECT_PRIMARY, STORE_UNAVAILABLE, NOT_ACTIVE -> RETRY;
            case OUTCOME_UNKNOWN -> ASK_AGAIN;
        };
    }
}
