package dev.palisade.client;

import java.time.Duration;
import java.time.Instant;

/**
 * A session as the server saw it when it answered, for people and dashboards: it is out of date when it arrives.
 *
 * @param session what people call it, 8 hexadecimal digits, the same as with holders and waiters; two sessions may
 *     share them
 * @param owner what the client calls itself; may be empty
 * @param principal whom the lock server authenticated; empty without authentication
 * @param generation of its newest stream, counted from 1; each reconnect is one more
 * @param connected false: its stream broke, and its leases and waits end with the grace unless it comes back
 * @param connectedAt when its newest stream was opened, by the server's clock
 * @param lastHeard how long ago its newest frame arrived
 * @param leases held on its newest stream
 * @param waiting requests of its newest stream that wait, were offered the lock, or are being decided
 * @param keepsLeasesOnDisconnect whether its leases are left to their own end when its stream breaks
 */
public record SessionDescription(
        String session,
        String owner,
        String principal,
        long generation,
        boolean connected,
        Instant connectedAt,
        Duration lastHeard,
        int leases,
        int waiting,
        boolean keepsLeasesOnDisconnect) {}
