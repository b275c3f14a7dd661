package dev.palisade.server.engine;

import dev.palisade.contract.SessionId;
import java.util.List;

/**
 * Some of the sessions of this server, in the order of their fingerprints.
 *
 * @param nextAfter where the next page begins; empty when this was the last
 * @param nowMillis the store's time at which it was made
 */
public record SessionPage(List<Listed> sessions, String nextAfter, long nowMillis) {
    public SessionPage {
        sessions = List.copyOf(sessions);
    }

    /**
     * One session, as its newest stream has it.
     *
     * @param id never to be shown: with it, any client can act for its owner
     * @param principal empty without authentication
     * @param connected false: the stream broke, and the grace runs
     * @param waiting requests that wait, were offered the lock or are being decided
     */
    public record Listed(
            SessionId id,
            String owner,
            String principal,
            long gen,
            boolean connected,
            long connectedAtMillis,
            long heardAtMillis,
            int leases,
            int waiting,
            boolean keepLeasesOnDisconnect) {}
}
