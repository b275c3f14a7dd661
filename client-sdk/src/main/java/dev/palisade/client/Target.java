package dev.palisade.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;

/**
 * One of the servers that a client may talk to: its channel, and what it answered. Each attempt has a fresh transport, as the old one
 * may be frozen; but a standby is asked again on the one that it has just answered on, which costs it far less where thousands ask. In
 * the loop only, but the channel.
 */
final class Target {
    /** So many connect timeouts a transport is used for more than one attempt: a load balancer may know another server by then. */
    private static final int KEPT_MAX = 4;
    /** No standby may be left alone for longer. */
    private static final long TOLD_NANOS_MAX = 2_000_000_000;

    private final ManagedChannel channel;
    private final String address;
    private boolean isKept;
    private long bornNanos;
    private boolean isTold;
    private long notBeforeNanos;

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

    /** Begins an attempt. gRPC's own backoff is left out, as it comes back seconds after the server does. */
    void attempt(long nowNanos, long connectTimeoutNanos) {
        if (!isKept || nowNanos - bornNanos >= KEPT_MAX * connectTimeoutNanos || !isReady()) {
            channel.enterIdle();
            bornNanos = nowNanos;
        }
        isKept = false;
        isTold = false;
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
     * @param retryAfterNanos when it is to be asked again, from now, at the earliest
     * @param several whether there are other servers; a single address may be a load balancer's, so the next attempt gets a fresh
     *     transport
     */
    void isStandby(long nowNanos, long retryAfterNanos, boolean several) {
        isKept = several;
        isTold = true;
        notBeforeNanos = nowNanos + Math.min(TOLD_NANOS_MAX, retryAfterNanos);
    }

    /** There is newer news of it than what it said itself. */
    void askNow() {
        isTold = false;
    }

    /** How long it is still to be left alone, nanoseconds. */
    long leftAloneNanos(long nowNanos) {
        return isTold ? Math.max(0, notBeforeNanos - nowNanos) : 0;
    }
}
