package dev.palisade.server.core;

import java.util.List;
import java.util.Optional;

/**
 * How a store does, for people and for health. Nothing about a lock is decided by it. Times are milliseconds since 1970 by the
 * server's own clock.
 *
 * @param kind one word, such as {@code embedded} or {@code redis}
 * @param where the data directory, or the address of the server that takes writes; where it was last found while it is not up
 * @param detail what else is known of it, in one line: product, version, which of several; may be empty
 * @param up whether commands can be decided now
 * @param sinceMillis since when it is up, or is not
 * @param why why it is not up, in one line; of one that is up the last failure before, empty when there was none
 * @param domains how many groups of names share a counter of tokens
 * @param epochs those that this server has seen begin or met, in the order of their domains: at most one of each
 */
public record StoreStatus(
        String kind,
        String where,
        String detail,
        boolean up,
        long sinceMillis,
        String why,
        int domains,
        List<Epoch> epochs) {

    /**
     * The present epoch of one domain.
     *
     * @param domain 0 up to {@link StoreStatus#domains()}
     * @param baseToken every token of the epoch is larger
     * @param beganAtMillis when it began, or when this server met it if that is not known
     * @param why what broke the line of tokens before, in one line
     * @param recoveringMillis for how long from now on no new grant is made; 0 when holders are not waited for
     * @param aheadMillis how far its newest known token runs ahead of the clock; 0 when it does not
     */
    public record Epoch(
            int domain, long baseToken, long beganAtMillis, String why, long recoveringMillis, long aheadMillis) {}

    public StoreStatus {
        epochs = List.copyOf(epochs);
    }

    /** The present epoch of a domain, if this server knows it. */
    public Optional<Epoch> epoch(int domain) {
        return epochs.stream().filter(epoch -> epoch.domain() == domain).findFirst();
    }
}
