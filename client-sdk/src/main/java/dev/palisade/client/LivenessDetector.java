package dev.palisade.client;

import java.util.OptionalLong;

/**
 * A failure detector of one stream: it decides when the link counts as frozen. That is so when a keep-alive has no
 * reply for half the smallest ttl, at most for the call timeout. It is also so when a call has no reply for as long,
 * and no other reply came meanwhile. Pushed events are no sign of life: the outgoing direction may be blocked while the
 * incoming one is open. Pure.
 */
final class LivenessDetector {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final long callTimeoutNanos;
    private long lastReplyNanos;
    private boolean replied;

    LivenessDetector(long callTimeoutNanos) {
        this.callTimeoutNanos = callTimeoutNanos;
    }

    void replied(long nowNanos) {
        lastReplyNanos = nowNanos;
        replied = true;
    }

    /** How long a reply has been due without any reply; 0 when no reply is due. */
    long silentNanos(OptionalLong oldestKeepAlive, OptionalLong oldestCall, long nowNanos) {
        if (oldestKeepAlive.isEmpty() && oldestCall.isEmpty()) {
            return 0;
        }
        long due = Math.max(
                oldestKeepAlive.isEmpty() ? 0 : nowNanos - oldestKeepAlive.getAsLong(),
                oldestCall.isEmpty() ? 0 : nowNanos - oldestCall.getAsLong());
        return replied ? Math.min(due, nowNanos - lastReplyNanos) : due;
    }

    /** When the link counts as frozen unless a reply comes before; empty when no reply is due. */
    OptionalLong deadlineNanos(OptionalLong oldestKeepAlive, OptionalLong oldestCall, OptionalLong smallestTtlMillis) {
        long timeout = smallestTtlMillis.isPresent()
                ? Math.min(callTimeoutNanos, smallestTtlMillis.getAsLong() * NANOS_PER_MILLI / 2)
                : callTimeoutNanos;
        if (oldestCall.isEmpty()) {
            return oldestKeepAlive.isEmpty()
                    ? OptionalLong.empty()
                    : OptionalLong.of(oldestKeepAlive.getAsLong() + timeout);
        }
        long since = oldestCall.getAsLong();
        if (replied && lastReplyNanos - since > 0) {
            since = lastReplyNanos;
        }
        if (oldestKeepAlive.isPresent() && oldestKeepAlive.getAsLong() - since < 0) {
            since = oldestKeepAlive.getAsLong();
        }
        return OptionalLong.of(since + timeout);
    }
}
