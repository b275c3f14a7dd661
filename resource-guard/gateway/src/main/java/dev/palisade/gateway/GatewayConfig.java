package dev.palisade.gateway;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Settings of one gateway, as its file gives them: {@link ConfigFile}. Immutable.
 *
 * @param file as the user wrote it
 * @param listen where it listens; port 0 is any free one
 * @param admin where metrics and health are served; null: nowhere
 * @param protects the name that the guard registers at the lock server
 * @param audience guard group of the lock server whose sequencers are accepted; null: those without one
 * @param previousKeyset by these keys sequencers without audience are accepted, too; null: none
 * @param tls of its own port; null: it listens in plaintext
 * @param marks directory of the mark store, unless there is a {@code register}
 * @param register where several gateways share marks and running requests; null: this is the only one
 * @param lockServers {@code host:port}, one or more
 * @param lockServerTls null: lock servers are called in plaintext
 * @param lockServerToken file with the gateway's token; null: it sends none
 * @param lockWait how long a call waits for calls of other grants
 * @param unknownOutcomeTimeout how long a call with an unknown outcome counts as running
 * @param passSequencer whether the service sees the sequencer's header
 * @param drain how long a stop waits for running calls
 * @param routes tried in this order
 * @param messageLocks null: they come from the service's reflection, at the start
 */
record GatewayConfig(
        String file,
        InetSocketAddress listen,
        @Nullable InetSocketAddress admin,
        String protects,
        String issuer,
        Path keyset,
        @Nullable String audience,
        @Nullable Path previousKeyset,
        @Nullable TlsConfig tls,
        Path marks,
        @Nullable RegisterConfig register,
        List<String> lockServers,
        @Nullable TlsConfig lockServerTls,
        @Nullable Path lockServerToken,
        Duration lockWait,
        Duration unknownOutcomeTimeout,
        boolean observeOnly,
        boolean passSequencer,
        Duration drain,
        Upstream upstream,
        RouteTable routes,
        @Nullable MessageLocks messageLocks) {

    /**
     * The service behind the gateway.
     *
     * @param addresses {@code host:port} of its instances, which share their data
     * @param http2 whether it speaks HTTP/2; in plaintext without an upgrade
     * @param tls null: it is called in plaintext
     * @param idleTimeout how long nothing may move in either direction
     */
    record Upstream(
            List<String> addresses, boolean http2, @Nullable TlsConfig tls, Duration idleTimeout) {}

    /** Where the marks are, for people. */
    String marksText() {
        return register == null ? marks.toString() : register.toString();
    }
}
