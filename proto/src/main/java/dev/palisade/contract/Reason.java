package dev.palisade.contract;

/**
 * Why a call was refused: the closed list, in order of precedence. Each has one page entry in
 * {@code docs/reference/reasons.md}; {@code dev.palisade.contract.grpc.Rejections} maps each to one gRPC code.
 */
public enum Reason {
    /** The request can never be right as it stands: a bug of the caller. */
    MALFORMED_REQUEST,
    /** No identity was shown. */
    UNAUTHENTICATED,
    /** The identity may not do this. */
    PERMISSION_DENIED,
    /** A guarded call came without a sequencer: a bug of the caller. */
    SEQUENCER_MISSING,
    /** The sequencer's signature, key or issuer is not one this guard accepts. */
    SEQUENCER_INVALID,
    /** The sequencer is genuine and names another lock than the one that guards this resource. */
    WRONG_RESOURCE,
    /** A SHARED grant tried to write. */
    MODE_NOT_ALLOWED,
    /** The server does not know this session: all its locks are lost. */
    SESSION_UNKNOWN,
    /** The caller does not hold this lock. */
    NOT_HOLDER,
    /** The grant is right and the token is not. */
    TOKEN_MISMATCH,
    /** The lease has ended. Final, even if the lock has no other holder. */
    LEASE_EXPIRED,
    /** A newer grant was admitted before: this lock is lost. Not applied. */
    TOKEN_STALE,
    /** The lock's queue is full. */
    QUEUE_FULL,
    /** A named limit was reached. */
    LIMIT_EXCEEDED,
    /** No token is left below 2^53. */
    TOKENS_EXHAUSTED,
    /** Calls of an older grant have not ended yet. The mark stays raised; not applied. */
    DRAINING,
    /** The guard cannot tell its marks. Not applied. */
    MARK_UNAVAILABLE,
    /** The store began a new epoch and waits for holders to come back. */
    RECOVERING,
    /** The store may have been deposed. */
    SUSPECT_PRIMARY,
    /** The store cannot be reached; nothing was done. */
    STORE_UNAVAILABLE,
    /** This lock server is a standby: another one is active, or none is yet. Nothing was done here. */
    NOT_ACTIVE,
    /** The call may or may not have been applied. */
    OUTCOME_UNKNOWN
}
