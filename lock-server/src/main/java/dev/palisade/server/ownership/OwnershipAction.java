package dev.palisade.server.ownership;

/** What a lock server has to do next about its log. */
public enum OwnershipAction {
    /** Locate the log, connect and claim it with {@link Ownership#past}. */
    CLAIM,
    /** Read the log into a new memory. Meanwhile an empty append every so often keeps the claim. */
    LOAD,
    /** Write all of memory, the unacknowledged batch included, under a new generation, and switch to it in the last append. */
    REWRITE,
    /** Start all leases and offers at their full length from now, and run batches. */
    SERVE,
    /** The same, but run only commands that free locks, and probe with empty ordinary appends. */
    SERVE_FREEING,
    /** Run no batch; reject new calls with STORE_UNAVAILABLE. Memory and streams stay. */
    SUSPEND,
    /** Send the replies and events of the batch that was on its way: it is stored. */
    ACKNOWLEDGE,
    /** Append the same batch again. Its position may be another one, its content never. */
    RESEND,
    /** Drop memory with the unacknowledged batch, close all streams, and stand by. */
    DROP,
    /** Append an empty batch that ends the claim. */
    YIELD,
    /** Close all streams and end. */
    STOP
}
