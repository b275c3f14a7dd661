package dev.palisade.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import org.jspecify.annotations.Nullable;

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
    /** Age at which a spare connection counts as unknown: longer than from one check to the next. */
    private static final long SPARE_KEPT_NANOS = 30_000_000_000L;
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
    /** Whether the transport has only had health checks. Its age is that of the last answer, and then of the first attempt. */
    private boolean isSpare;

    private boolean pauses;
    /** Whether the server asked for the pause. */
    private boolean isAsked;

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
        boolean isKept = nowNanos - bornNanos < keptNanos && isConnected();
        if (!isKept) {
            channel.enterIdle();
        }
        if (!isKept || isSpare) {
            bornNanos = nowNanos;
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

    /** Only one that has just answered is used by the next attempt. */
    void spareChecked(boolean answered, long nowNanos) {
        isSpare = answered;
        if (answered) {
            bornNanos = nowNanos;
            keptNanos = SPARE_KEPT_NANOS;
        } else {
            keptNanos = 0;
            channel.enterIdle();
        }
    }

    private boolean isConnected() {
        return isReady() || is(ConnectivityState.CONNECTING);
    }

    /** Whether the server has taken the connection: a frozen process does not. */
    boolean isReady() {
        return is(ConnectivityState.READY);
    }

    /** Whether a server may have to hear of the end of the client. */
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
            return null; // A channel of the user's own.
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
        pause(nowNanos, Math.min(PAUSE_NANOS_MAX, retryAfterNanos), true);
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
        if (!isConnected()) {
            channel.enterIdle(); // Else gRPC dials it again and again by itself.
        }
        pause(nowNanos, FAILURE_PAUSE_NANOS << Math.min(DOUBLINGS_MAX, failures++), false);
    }

    private void pause(long nowNanos, long nanos, boolean asked) {
        pauses = true;
        isAsked = asked;
        pauseEndNanos = nowNanos + nanos;
    }

    /**
     * Another server has named this one since: a pause that this one asked for is over. One after a failure is over only if few clients ask:
     * a dead server, too, is named for as long as its claim lasts.
     *
     * @param speakerIsBusy whether the other server asked for a pause itself
     */
    void named(boolean speakerIsBusy) {
        pauses = pauses && speakerIsBusy && !isAsked;
    }

    /** The rest of the pause, nanoseconds; 0 if there is none. */
    long pauseNanos(long nowNanos) {
        return pauses ? Math.max(0, pauseEndNanos - nowNanos) : 0;
    }
}
