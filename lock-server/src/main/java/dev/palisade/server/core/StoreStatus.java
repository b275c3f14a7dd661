package dev.palisade.server.core;

import java.util.List;
import java.util.Optional;

/**
 * How a store does, for people and for health. Nothing about a lock is decided by it. Times are milliseconds since 1970 by the
 * server's own clock.
 *
 * @param kind one word, such as {@code embedded} or {@code redis}
 * @param where the data directory, or the address of the server that takes writes; where it was last found while it is not up
 * @param up whether commands can be decided now
 * @param sinceMillis since when it is up, or is not
 * @param why why it is not up, in one line; of one that is up the last failure before, empty when there was none
 * @param epoch empty of a server that has not been active
 * @param log of a store with one active server; empty of another store, and where it is not known
 * @param standby whether it is not up because another server is active, as it should be
 */
public record StoreStatus(
        String kind,
        String where,
        boolean up,
        long sinceMillis,
        String why,
        Optional<Epoch> epoch,
        Optional<SharedLog> log,
        boolean standby) {

    /**
     * The present epoch: the tokens since the last break in their line.
     *
     * @param baseToken every token of the epoch is larger
     * @param beganAtMillis when it began, or when this server met it if that is not known
     * @param why what broke the line of tokens before, in one line
     * @param recoveringMillis for how long from now on no new grant is made; 0 when holders are not waited for
     * @param aheadMillis how far its newest known token runs ahead of the clock; 0 when it does not
     */
    public record Epoch(long baseToken, long beganAtMillis, String why, long recoveringMillis, long aheadMillis) {}

    /**
     * The log that several lock servers share. Times are those of the log's clock.
     *
     * @param nowMillis when it was asked, about a second ago at most
     * @param activeAddress where clients reach the server that claimed it last
     * @param writer identity of that claim
     * @param batch number of the last batch that was stored under it
     * @param term how often the log was claimed
     * @param claimMillis how long a claim lasts from each batch
     * @param remainingMillis how long the present claim lasts still; 0 when it is over
     */
    public record SharedLog(
            long nowMillis,
            String activeAddress,
            String writer,
            long batch,
            long term,
            long claimMillis,
            long remainingMillis,
            Takeover takeover,
            List<Standby> standbys) {
        public SharedLog {
            standbys = List.copyOf(standbys);
        }
    }

    /**
     * How the active server became it.
     *
     * @param atMillis 0 when it is not known
     * @param why STARTED: the log was new; STOPPED, CLAIM_RAN_OUT: what the former active server did; RESTARTED: the same one came back;
     *     DATA_LOST. Empty when it is not known; there may be more some day
     * @param fromAddress of the former active server; empty if there was none
     */
    public record Takeover(long atMillis, String why, String fromAddress) {
        /** Of which nothing is known. */
        public static final Takeover UNKNOWN = new Takeover(0, "", "");
    }

    /** A server that waits for the log. */
    public record Standby(String address, long sinceMillis, long lastSeenMillis) {}

    /** Of a store without an active server. */
    public StoreStatus(String kind, String where, boolean up, long sinceMillis, String why, Optional<Epoch> epoch) {
        this(kind, where, up, sinceMillis, why, epoch, Optional.empty(), false);
    }
}
