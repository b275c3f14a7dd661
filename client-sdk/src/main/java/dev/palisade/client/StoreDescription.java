package dev.palisade.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * How the store behind a server did when it answered, for people and dashboards: it is out of date when it arrives. Of
 * several servers of one store each tells what it has met itself.
 *
 * @param kind one word, such as {@code embedded} or {@code redis}
 * @param where the data directory, or the address of the server that takes writes; where it was last found while it is
 *     not up
 * @param up whether locks can be decided now
 * @param since since when it is up, or is not, by the server's clock
 * @param why why it is not up; of one that is up the last failure before; may be empty
 * @param epoch the present epoch of its tokens; empty of a server that has not been active
 * @param log of a store with one active server and standbys; empty of another store, and while it is not known
 * @param standby whether it is not up because another lock server is active, as it should be
 */
public record StoreDescription(
        String kind,
        String where,
        boolean up,
        Instant since,
        String why,
        Optional<Epoch> epoch,
        Optional<SharedLog> log,
        boolean standby) {
    /**
     * The tokens since the last break in their line.
     *
     * @param baseToken every token of the epoch is larger
     * @param beganAt by the server's clock; when the server met it if that is not known
     * @param why what broke the line before
     * @param recovering for how long from now on nothing new is granted; zero: the store is not recovering
     * @param ahead how far the newest known token runs ahead of the clock; zero: it does not
     */
    public record Epoch(long baseToken, Instant beganAt, String why, Duration recovering, Duration ahead) {}

    /**
     * The log that several lock servers share, about a second ago at most. Instants are those of the log's clock.
     *
     * @param active host:port of the server that claimed it last
     * @param writer identity of that claim
     * @param batch number of the last batch that was stored under it
     * @param term how often the log was claimed
     * @param claim how long a claim lasts from each batch
     * @param claimRemaining how long the present claim lasts still; zero: it is over
     * @param takeover how the active server became it; empty: that is not known
     * @param standbys servers that wait for the log
     */
    public record SharedLog(
            String active,
            String writer,
            long batch,
            long term,
            Duration claim,
            Duration claimRemaining,
            Optional<Takeover> takeover,
            List<Standby> standbys) {
        public SharedLog {
            standbys = List.copyOf(standbys);
        }
    }

    /**
     * @param why one word: STARTED, STOPPED, CLAIM_RAN_OUT, RESTARTED or DATA_LOST; a newer server may have others
     * @param from host:port of the active server before; empty: there was none
     */
    public record Takeover(Instant at, String why, Optional<String> from) {}

    /** @param address host:port where clients reach it */
    public record Standby(String address, Instant since, Instant lastSeen) {}
}
