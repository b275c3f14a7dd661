package dev.palisade.client;

import java.time.Duration;

/**
 * The settings of a client.
 *
 * @param owner name of the client, for people
 * @param ttl of leases that name none; zero takes the server's default
 * @param connectTimeout from opening a stream to its welcome
 * @param callTimeout for one call to the server
 * @param keepLeasesOnDisconnect whether leases are left to their own end when the stream breaks
 */
record Settings(
        String owner, Duration ttl, Duration connectTimeout, Duration callTimeout, boolean keepLeasesOnDisconnect) {}
