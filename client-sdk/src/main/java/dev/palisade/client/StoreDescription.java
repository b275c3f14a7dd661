package dev.palisade.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * How the store behind a server did when it answered, for people and dashboards: it is out of date when it arrives. Of several servers
 * of one store each tells what it has met itself.
 *
 * @param kind one word, such as {@code embedded} or {@code redis}
 * @param where the data directory, or the address of the server that takes writes; where it was last found while it is not up
 * @param detail what else is known of it, in one line; may be empty
 * @param up whether locks can be decided now
 * @param since since when it is up, or is not, by the server's clock
 * @param why why it is not up; of one that is up the last failure before; may be empty
 * @param domains how many groups of names share a counter of tokens
 * @param epochs those that the server has met, in the order of their domains
 */
public record StoreDescription(
        String kind,
        String where,
        String detail,
        boolean up,
        Instant since,
        String why,
        int domains,
        List<Epoch> epochs) {
    public StoreDescription {
        epochs = List.copyOf(epochs);
    }

    /**
     * The tokens of one domain since the last break in their line.
     *
     * @param domain which, from 0
     * @param baseToken every token of the epoch is larger
     * @param beganAt by the server's clock; when the server met it if that is not known
     * @param why what broke the line before
     * @param recovering for how long from now on nothing new is granted; zero: the store is not recovering
     * @param ahead how far the newest known token runs ahead of the clock; zero: it does not
     */
    public record Epoch(int domain, long baseToken, Instant beganAt, String why, Duration recovering, Duration ahead) {}
}
