package dev.palisade.server.ownership;

/** A log's reply to a claim. */
public sealed interface ClaimReply {
    /**
     * The server owns the log.
     *
     * @param writer the new writer, whose next batch is its first
     * @param mine whether the log's history is part of the memory whose past was presented: memory stays
     * @param whole whether the log lost nothing since its last append
     * @param position of the log's last batch
     * @param tokens the stored count of tokens
     * @param recoveringUntilMillis end of the recovery window by the log's clock; 0 for none
     * @param term of this claim, from 1
     * @param nowMillis the log's clock
     */
    record Claimed(
            WriterId writer,
            boolean mine,
            boolean whole,
            Position position,
            long tokens,
            long recoveringUntilMillis,
            long term,
            long nowMillis)
            implements ClaimReply {}

    /**
     * Another server owns the log.
     *
     * @param server its id
     * @param address where clients reach it
     * @param remainingMillis until its claim ends, unless it appends
     */
    record Held(String server, String address, long remainingMillis) implements ClaimReply {}

    /**
     * The log is not whole and waits for its last owner.
     *
     * @param remainingMillis until this server may get it
     */
    record Settling(long remainingMillis) implements ClaimReply {}
}
