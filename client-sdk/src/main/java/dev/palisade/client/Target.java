package dev.palisade.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import org.jspecify.annotations.Nullable;

/**
 * A server endpoint of one client: its channel, and the pause until its next attempt. After a stream broke, the next
 * one gets a new transport, because the old one may be frozen. Later attempts keep that transport for a while: a new
 * one costs a server that takes over far more, and would wait behind those of the fleet again. In the loop only, except
 * for the channel.
 */
final class Target {
    /**
     * Age in connect timeouts at which the transport of a standby is replaced: a proxy may lead to another server by
     * then.
     */
    private static final int STANDBY_KEPT = 4;
    /** Age in connect timeouts at which a silent transport is replaced: that of a late server or a frozen one. */
    private static final int SILENT_KEPT = 2;
    /** Age at which a spare connection counts as unknown: longer than from one check to the next. */
    private static final long SPARE_KEPT_NANOS = 30_000_000_000L;
    /** Longest pause. */
    private static final long PAUSE_NANOS_MAX = 2_000_000_000;
    /** Pause after a failure; it doubles with each further one. */
    private static final long FAILURE_PAUSE_NANOS = 250_000_000;

    private static final int DOUBLINGS_MAX = 2;

    private final ManagedChannel channel;
    private final String address;
    private long transportSinceNanos;
    /** Age at which the transport is replaced by the next attempt. */
    private long keptNanos;
    /**
     * Whether the transport has only had health checks. Its age counts from the last reply, and later from the first
     * attempt.
     */
    private boolean isSpare;

    private boolean pauses;
    /** Whether the server requested the pause. */
    private boolean isRequested;

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
        boolean isKept = nowNanos - transportSinceNanos < keptNanos && isConnected();
        if (!isKept) {
            channel.enterIdle();
        }
        if (!isKept || isSpare) {
            transportSinceNanos = nowNanos;
        }
        keptNanos = 0;
        isSpare = false;
        pauses = false;
    }

    /** A spare connection is checked next. gRPC's own backoff is too long here as well. */
    void checkSpare() {
        if (!isConnected()) {
            channel.enterIdle();
        }
    }

    /** Records a health check. The next attempt uses the transport only after a recent reply. */
    void spareChecked(boolean replied, long nowNanos) {
        isSpare = replied;
        if (replied) {
            transportSinceNanos = nowNanos;
            keptNanos = SPARE_KEPT_NANOS;
        } else {
            keptNanos = 0;
            channel.enterIdle();
        }
    }

    private boolean isConnected() {
        return isReady() || is(ConnectivityState.CONNECTING);
    }

    /** Whether the server has accepted the connection: a frozen process does not. */
    boolean isReady() {
        return is(ConnectivityState.READY);
    }

    /** Whether the server may have a connection that it should see closed. */
    boolean mayBeReady() {
        ConnectivityState state = state();
        return state == null || state == ConnectivityState.READY;
    }

    private boolean is(ConnectivityState state) {
        return state() == state;
    }

    private @Nullable ConnectivityState state() {
        try {
            return channel.getState(false);
        } catch (UnsupportedOperationException e) {
            return null; // A channel that the user made.
        }
    }

    /** Records a welcome. */
    void welcomed() {
        failures = 0;
    }

    /**
     * Records the reply of a standby.
     *
     * @param retryAfterNanos the pause that it requested
     * @param several whether there are other servers; a single address may be that of a load balancer, so its transport
     *     is not kept
     */
    void isStandby(long nowNanos, long retryAfterNanos, boolean several, long connectTimeoutNanos) {
        failures = 0;
        keptNanos = several ? STANDBY_KEPT * connectTimeoutNanos : 0;
        pause(nowNanos, Math.min(PAUSE_NANOS_MAX, retryAfterNanos), true);
    }

    /** Records a timeout. */
    void isSilent(long connectTimeoutNanos) {
        keptNanos = SILENT_KEPT * connectTimeoutNanos;
    }

    /**
     * Records a failed attempt. The other servers are tried first for a while: attempts of a fleet at a dead server
     * delay the takeover by a standby.
     */
    void failed(long nowNanos) {
        if (!isConnected()) {
            channel.enterIdle(); // Else gRPC reconnects by itself, again and again.
        }
        pause(nowNanos, FAILURE_PAUSE_NANOS << Math.min(DOUBLINGS_MAX, failures++), false);
    }

    private void pause(long nowNanos, long nanos, boolean requested) {
        pauses = true;
        isRequested = requested;
        pauseEndNanos = nowNanos + nanos;
    }

    /**
     * Records a referral by another server: it ends a pause that this server requested. A pause after a failure ends
     * only if the referrer is not busy: a dead server, too, is referred to for as long as its claim lasts.
     *
     * @param referrerIsBusy whether the other server requested a pause itself
     */
    void referred(boolean referrerIsBusy) {
        pauses = pauses && referrerIsBusy && !isRequested;
    }

    /** The rest of the pause, nanoseconds; 0 if there is none. */
    long pauseNanos(long nowNanos) {
        return pauses ? Math.max(0, pauseEndNanos - nowNanos) : 0;
    }
}
