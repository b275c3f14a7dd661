package dev.palisade.server.store.log;

import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.store.StoreUnusable;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A log of records with one writer: the port behind which a {@link LoggedStore} keeps what must last. A record has an id, is added,
 * updated and deleted. What is written gathers in a batch, which {@link #sync} makes durable as a whole. A log that several
 * lock servers share belongs to the one whose claim it granted last, and stores no batch of another. Used by one thread at a
 * time, which must not be interrupted.
 */
public interface FencedLog extends AutoCloseable {
    /**
     * Receives the records of a log: those of one id in the order in which they were written. Of one that is deleted later, the first
     * parts may be missing.
     */
    interface Loader {
        /** @param index 0 for the add, counted up with each update */
        void record(long id, int index, ByteBuffer body) throws StoreUnusable;

        void deleted(long id);

        /** Called every so often while a shared log is read: the owner's claim may have to be kept. */
        default void progress() throws LogFailure {}
    }

    /** What kind of log it is, in one word, such as {@code embedded}. */
    String kind();

    /** Where the records are, for people. */
    String where();

    /** Whether other lock servers may claim it: then every batch is synced, also one without a record. */
    boolean isShared();

    /** Its owner and standbys, as far as they are known; empty for a log of one server. Never blocks; thread-safe. */
    default Optional<StoreStatus.SharedLog> status() {
        return Optional.empty();
    }

    /** Whether an earlier sync is known to have succeeded: then the log cannot be empty. */
    boolean isBegun();

    /**
     * Asks for the log. If it is granted, no batch of an earlier claim is ever stored again, and a batch whose sync failed is
     * forgotten if the log turned out to hold it; if not, the next {@link #sync} sends it again. A log of one server is always granted.
     *
     * @param past of this server's memory
     * @throws LogFailure when there is no reply; the claim may have been granted
     */
    ClaimReply claim(Past past) throws LogFailure;

    /**
     * Reads all records, after a claim was granted. A batch that was not synced is forgotten. What was read counts only after the
     * next {@link #sync}, which proves that the log was this server's all the while.
     *
     * @throws StoreUnusable when the records cannot be read; nothing was changed
     */
    void load(Loader loader) throws StoreUnusable, LogFailure;

    /**
     * Reads the next part of a log that another server owns, while that server appends to it.
     *
     * @param loaders makes one for each time that the log is read from its start
     * @return whether there may be more
     */
    default boolean readAhead(Supplier<? extends Loader> loaders) {
        return false;
    }

    /**
     * As {@link #load}, but hands over only what {@link #readAhead} has not read. If that is no prefix of the log any more, a new loader
     * receives all records.
     *
     * @param loaders as in {@link #readAhead}; the last loader that they made has all records
     */
    default void loadRest(Supplier<? extends Loader> loaders) throws StoreUnusable, LogFailure {
        load(loaders.get());
    }

    /** Begins a record and returns its id; larger than that of every earlier record, and never 0. */
    long add(byte[] body);

    /** @param index 1 for the first update of a record, then counted up */
    void update(long id, int index, byte[] body);

    void delete(long id);

    /**
     * Tells which records are kept, as of the batch that is written now: place of smaller ids may be used again.
     *
     * @param oldestId smallest id of a record that is not deleted
     */
    default void keepsFrom(long oldestId) {}

    /**
     * A log that only frees place at its old end asks for records to be written anew, so that they move away from there.
     *
     * @return records with smaller ids are to be added again and deleted, the oldest first, a few in each batch; 0 for none
     */
    default long rewritesBelow() {
        return 0;
    }

    /** The next {@link #sync} survives a power cut, whatever the log's durability setting. */
    default void syncToDisk() {}

    /**
     * Whether the batches to come only free locks: a shared log that refuses others for lack of space may take them.
     *
     * @param only false unless it was said
     */
    default void frees(boolean only) {}

    /**
     * Returns when everything written so far is durable, and the log still this server's. A shared log is asked also when nothing was
     * written.
     *
     * @param tokens the largest fencing token issued so far; a shared log counts its tokens up to it
     * @throws LogFailure of a shared log only; what was written stays for the next {@link #sync}
     */
    void sync(long tokens) throws LogFailure;

    /**
     * Begins a copy of all records, in place of what the log holds: it was claimed by the server whose memory it is, and lost data. What
     * was written and is not known to be synced is forgotten. Of a shared log only.
     */
    default void beginCopy() {
        throw new UnsupportedOperationException("a log of one server loses no data");
    }

    /** Syncs as {@link #sync} does; from then on the copy is the log. Until then the next owner reads what was there before. */
    default void syncCopy(long tokens) throws LogFailure {
        throw new UnsupportedOperationException("a log of one server loses no data");
    }

    /** Receives the outcome of a batch that was sent. */
    interface Sent {
        /**
         * Called once, on any thread, perhaps before {@link #send} returns.
         *
         * @param failure null when the batch is durable, and the log was this server's
         */
        void replied(@Nullable LogFailure failure);
    }

    /**
     * Syncs as {@link #sync} does, but does not wait for the outcome. More may be written and sent meanwhile: a batch is stored only after
     * all that were sent before it. Nothing else may be asked of the log before every outcome is there. What was sent and is not stored
     * is part of the next {@link #sync}.
     */
    default void send(long tokens, Sent sent) {
        LogFailure failure = null;
        try {
            sync(tokens);
        } catch (LogFailure e) {
            failure = e;
        }
        sent.replied(failure);
    }

    /**
     * Records that were once synced are missing. A shared log is claimed anew, by this server as one that lost data, so that a recovery
     * window follows; what is still there is kept.
     *
     * @throws StoreUnusable always, of a log of one server
     * @throws LogFailure always, of a shared log
     */
    void damaged() throws StoreUnusable, LogFailure;

    /**
     * Ends the claim after the last {@link #sync}: the next server may claim at once.
     *
     * @throws LogFailure of a shared log only
     */
    void endClaim() throws LogFailure;

    @Override
    void close();
}
