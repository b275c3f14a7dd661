package dev.palisade.server.store.embedded;

/** What an answer of the embedded store survives. */
public enum Durability {
    /** The machine too: each batch is synced to disk before it is answered. */
    SYNCED,
    /**
     * The end of the process, also by {@code kill -9}: each batch is with the kernel before it is answered. When the machine
     * stops, the last grants and ends may be lost. Tokens rise all the same: their reservation is synced.
     */
    PROCESS
}
