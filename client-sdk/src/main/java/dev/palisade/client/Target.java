package dev.palisade.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;

/**
 * One of the servers of a client: its channel, and for how long it is not tried. A stream that worked and broke is followed by one on a
 * fresh transport, because the old one may be frozen. Later attempts keep that transport for a while: a new one costs a server that takes
 * over far more, and would wait behind the others of the fleet once more. In the loop only, except for the channel.
 */
final class Target {
    /** Age in connect timeouts at which the transport of a standby is replaced: a proxy may lead to another server by then. */
    private static final int STANDBY_KEPT = 4;
    /** Age in connect timeouts at which a silent transport is replaced: that of a server that answers late, or a frozen one. */
    private static final int SILENT_KEPT = 2;
    /** The longest pause. */
    private static final long PAUSE_NANOS_MAX = 2_000_000_000;
    /** After a failure, doubling with each that follows. */
    private static final long FAILURE_PAUSE_NANOS = 250_000_000;

    private static final int DOUBLINGS_MAX = 2;

    private final ManagedChannel channel;
    private final String address;
    private long bornNanos;
    /** Age at which the transport is replaced by the next attempt. */
    private long keptNanos;

    private boolean pauses;
    private long pauseEndNanos;
    private int failures;

    Target(String address, ManagedChannel channel) {
        this.address = address;
        this.channel = channel;
    }

    ManagedChannel channel() {
        return channel;
    }

    String address() {
        return address;
    }

    /** Begins an attempt. gRPC's own backoff is too long: seconds after the server is back. */
    void attempt(long nowNanos) {
        if (nowNanos - bornNanos >= keptNanos || !(isReady() || is(ConnectivityState.CONNECTING))) {
            channel.enterIdle();
            bornNanos = nowNanos;
        }
        keptNanos = 0;
        pauses = false;
    }

    /** Whether the server has taken the connection: a frozen process does not. */
    boolean isReady() {
        return is(ConnectivityState.READY);
    }

    private boolean is(ConnectivityState state) {
        try {
            return channel.getState(false) == state;
        } catch (UnsupportedOperationException e) {
            return false; // A channel of the user's own.
        }
    }

    /** It took the client. */
    void welcomed() {
        failures = 0;
    }

    /**
     * It answered that it is a standby.
     *
     * @param retryAfterNanos the pause that it asked for
     * @param several whether there are other servers; a single address may be a load balancer's, so its transport is not kept
     */
    void isStandby(long nowNanos, long retryAfterNanos, boolean several, long connectTimeoutNanos) {
        failures = 0;
        keptNanos = several ? STANDBY_KEPT * connectTimeoutNanos : 0;
        pause(nowNanos, Math.min(PAUSE_NANOS_MAX, retryAfterNanos));
    }

    /** It did not answer in time. */
    void isSilent(long connectTimeoutNanos) {
        keptNanos = SILENT_KEPT * connectTimeoutNanos;
    }

    /**
     * It did not take the client, and the others are tried first for a moment: while a standby takes over, attempts of a fleet at a dead
     * server take time from it.
     */
    void failed(long nowNanos) {
        pause(nowNanos, FAILURE_PAUSE_NANOS << Math.min(DOUBLINGS_MAX, failures++));
    }

    private void pause(long nowNanos, long nanos) {
        pauses = true;
        pauseEndNanos = nowNanos + nanos;
    }

    /** Ends the pause: another server has named this one since. */
    void endPause() {
        pauses = false;
    }

    /** The rest of the pause, nanoseconds; 0 if there is none. */
    long pauseNanos(long nowNanos) {
        return pauses ? Math.max(0, pauseEndNanos - nowNanos) : 0;
    }
}
