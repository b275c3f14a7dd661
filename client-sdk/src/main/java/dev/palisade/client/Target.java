package dev.palisade.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;

/**
 * One of the servers of a client: its channel, and the pause that it asked for. Each attempt has a fresh transport, because the old one
 * may be frozen. A standby is asked again on the transport of its last reply: a new one costs the standby far more. In the loop only,
 * except for the channel.
 */
final class Target {
    /** Age in connect timeouts at which a transport is replaced: a proxy may lead to another server by then. */
    private static final int KEPT_MAX = 4;
    /** The longest pause. */
    private static final long PAUSE_NANOS_MAX = 2_000_000_000;

    private final ManagedChannel channel;
    private final String address;
    private boolean isKept;
    private long bornNanos;
    private boolean pauses;
    private long pauseEndNanos;

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
    void attempt(long nowNanos, long connectTimeoutNanos) {
        if (!isKept || nowNanos - bornNanos >= KEPT_MAX * connectTimeoutNanos || !isReady()) {
            channel.enterIdle();
            bornNanos = nowNanos;
        }
        isKept = false;
        pauses = false;
    }

    private boolean isReady() {
        try {
            return channel.getState(false) == ConnectivityState.READY;
        } catch (UnsupportedOperationException e) {
            return false; // A channel of the user's own.
        }
    }

    /**
     * It answered that it is a standby.
     *
     * @param retryAfterNanos the pause that it asked for
     * @param several whether there are other servers; a single address may be a load balancer's, so its transport is not kept
     */
    void isStandby(long nowNanos, long retryAfterNanos, boolean several) {
        isKept = several;
        pauses = true;
        pauseEndNanos = nowNanos + Math.min(PAUSE_NANOS_MAX, retryAfterNanos);
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
