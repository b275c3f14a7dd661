package dev.palisade.server.ownership;

import org.jspecify.annotations.Nullable;

/**
 * Where a lock server stands with its log. Changed by {@link OwnershipMachine} only.
 *
 * @param past of memory, as the next claim presents it; {@link Past#NONE} without memory
 * @param claimed the last claim that was granted, while it counts
 * @param seq of the last acknowledged batch under that claim
 * @param pending how many batches wait to be acknowledged: each is in flight by itself, or all are sent again as one
 * @param refusal what the log's definite refusals led to
 * @param stopping whether the server yields after the batch that is on its way
 * @param wakeMillis when {@link OwnershipMachine#tick} has something to do; {@link Long#MAX_VALUE} for never
 * @param refusedSinceMillis time of the first of several refusals of one batch; {@link Long#MAX_VALUE} without
 */
public record Ownership(
        Phase phase,
        Past past,
        ClaimReply.@Nullable Claimed claimed,
        long seq,
        int pending,
        Refusal refusal,
        boolean stopping,
        long wakeMillis,
        long refusedSinceMillis) {

    /** What a lock server is doing. */
    public enum Phase {
        /** No memory; claims when it is time. */
        STANDBY,
        /** Memory, but no contact: claims when it is time. */
        SUSPENDED,
        /** A claim is on its way. */
        CLAIMING,
        /** Owns the log and reads it. */
        LOADING,
        /** Owns a log that lost batches, and writes memory into it. */
        REWRITING,
        /** Owns the log; one batch is sent again before anything else. */
        RESENDING,
        /** Owns the log and runs batches. */
        ACTIVE,
        /** Owns a log that refuses records, and runs only what frees locks. */
        FREEING,
        /** The last append is on its way. */
        YIELDING,
        STOPPED
    }

    /** What definite refusals of the log, such as out of memory, led to. */
    public enum Refusal {
        /** The log takes batches, as far as is known. */
        NONE,
        /** Memory is ahead of a log that refused its last batch for too long: it is loaded anew. */
        RELOAD,
        /** Memory is right, and only commands that free locks run. Appends take the way that is open to those. */
        FREE
    }

    /** Whether calls may be run, or wait for the batch that is on its way. */
    public boolean isServing() {
        return phase == Phase.ACTIVE || phase == Phase.FREEING;
    }

    /** Position after the oldest batch of this claim that is not acknowledged. */
    Position nextPosition() {
        return positionAfter(1);
    }

    /** Position after so many batches of this claim that are not acknowledged. */
    Position positionAfter(int batches) {
        return new Position(granted().writer(), seq + batches);
    }

    /** {@link #claimed}, which has to be there. */
    public ClaimReply.Claimed granted() {
        if (claimed == null) {
            throw new IllegalStateException("no claim was granted in phase " + phase);
        }
        return claimed;
    }

    Ownership in(Phase next) {
        return new Ownership(next, past, claimed, seq, pending, refusal, stopping, wakeMillis, refusedSinceMillis);
    }

    Ownership with(Past next) {
        return new Ownership(phase, next, claimed, seq, pending, refusal, stopping, wakeMillis, refusedSinceMillis);
    }

    Ownership withPending(int next) {
        return new Ownership(
                phase,
                past,
                claimed,
                seq,
                next,
                refusal,
                stopping,
                wakeMillis,
                next > 0 ? refusedSinceMillis : Long.MAX_VALUE);
    }

    Ownership wakingAt(long millis) {
        return new Ownership(phase, past, claimed, seq, pending, refusal, stopping, millis, refusedSinceMillis);
    }

    Ownership granted(ClaimReply.Claimed reply) {
        return new Ownership(phase, past, reply, 0, pending, refusal, stopping, Long.MAX_VALUE, Long.MAX_VALUE);
    }

    Ownership appended() {
        return new Ownership(phase, past, claimed, seq + 1, pending, refusal, stopping, wakeMillis, Long.MAX_VALUE);
    }

    Ownership with(Refusal next) {
        return new Ownership(phase, past, claimed, seq, pending, next, stopping, wakeMillis, refusedSinceMillis);
    }

    Ownership asStopping() {
        return new Ownership(phase, past, claimed, seq, pending, refusal, true, wakeMillis, refusedSinceMillis);
    }

    Ownership refusedAt(long millis) {
        return new Ownership(phase, past, claimed, seq, pending, refusal, stopping, wakeMillis, millis);
    }

    /** Without memory and claim. */
    Ownership dropped() {
        return new Ownership(Phase.STANDBY, Past.NONE, null, 0, 0, Refusal.NONE, stopping, wakeMillis, Long.MAX_VALUE);
    }
}
