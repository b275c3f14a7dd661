package dev.palisade.server.store.log;

import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A storage of the batches of a {@link BatchedLog}, in a product such as Redis: decides claims and appends as {@link dev.palisade.server.ownership.LogRules}
 * does, and stores a batch under its number. A batch that is stored stays, also after a crash of the product, as far as its
 * settings allow that. Used by one thread at a time.
 */
public interface BatchStorage extends AutoCloseable {
    /** What kind of log it is, in one word, such as {@code redis}. */
    String kind();

    /** Product and address: how a message about it begins. Never with a password. */
    String name();

    /** Where the log is in the product, for people. */
    String path();

    /** As {@link FencedLog#status}. */
    Optional<StoreStatus.SharedLog> status();

    /**
     * The reply to a claim, and what a log that was granted holds.
     *
     * @param generation of the batches that count
     * @param rewriting generation that is to be written from memory; 0 for none
     * @param ownerKeyId of the key with which the server signs that owns the log, if that is another one
     * @param ownerSettings of that server; empty if they are not known
     * @param takeover the last one: that of this claim, unless memory is kept
     */
    record Claim(
            ClaimReply reply,
            BatchSpan batches,
            long generation,
            long rewriting,
            String ownerKeyId,
            String ownerSettings,
            StoreStatus.Takeover takeover) {
        /** Of a log that was not granted. */
        public static Claim refused(ClaimReply reply, String ownerKeyId, String ownerSettings) {
            return new Claim(reply, BatchSpan.NONE, 0, 0, ownerKeyId, ownerSettings, StoreStatus.Takeover.UNKNOWN);
        }
    }

    /**
     * Asks for the log, after looking anew for the server that takes writes if a call before had no reply.
     *
     * @param keyId of the key with which this server signs; kept with a claim that is granted
     * @param settings of this server, which all servers of a log should have; kept as well
     * @throws StoreUnusable when the log cannot be used as it is
     */
    Claim claim(ClaimRequest request, String keyId, String settings) throws StoreUnusable, LogFailure;

    /**
     * Why a claim that was granted must not be used, though the log is this server's now; empty if it may.
     *
     * @param isFirst whether the log is new
     */
    default Optional<String> doubt(ClaimReply.Claimed claimed, boolean isFirst) throws LogFailure {
        return Optional.empty();
    }

    /**
     * Reads batches where the last claim was asked for, and nowhere else.
     *
     * @param end number after the last one
     * @return one for each number; null for one that is not there
     */
    List<byte @Nullable []> read(long generation, long first, long end) throws StoreUnusable, LogFailure;

    /** The batches of the log, whichever server owns it; empty if there is no log. Changes nothing. */
    Optional<Contents> look() throws StoreUnusable, LogFailure;

    /**
     * Batches of a log.
     *
     * @param generation of those that count
     * @param last position of the last one
     */
    record Contents(long generation, BatchSpan batches, Position last) {}

    /** Where a batch is, for people. */
    String pathOf(long generation, long number);

    /**
     * One batch.
     *
     * @param generation that the batch belongs to
     * @param before what the log holds
     * @param after what it holds with this batch; those before its first are dropped
     * @param frees whether it only frees locks, so that a log without space for others may take it
     * @param keyId of the key with which this server signs; kept with the batch's position
     */
    record Append(
            AppendRequest request, long generation, BatchSpan before, BatchSpan after, boolean frees, String keyId) {}

    /**
     * Stores a batch after those for which this was called before, and none that follows one that was not stored. Does not block.
     *
     * @param bytes its records; empty for none
     * @param sent called once, on any thread, also when the storage is closed
     */
    void append(Append append, byte[] bytes, FencedLog.Sent sent);

    @Override
    void close();
}
