package dev.palisade.client;

import java.util.OptionalLong;

/**
 * When a link counts as frozen: a keep-alive unanswered for half the smallest ttl (at most the call timeout), or a call
 * unanswered for as long with no other reply meanwhile. Pushed events are no sign of life: the way out may be blocked
 * while the way in is open. Pure.
 */
final class Stall {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final long callTimeoutNanos;
    private long lastReplyNanos;
    private boolean replied;

    Stall(long callTimeoutNanos) {
        this.callTimeoutNanos = callTimeoutNanos;
    }

    void replied(long nowNanos) {
        lastReplyNanos = nowNanos;
        replied = true;
    }

    /** For how long a reply has been due while nothing was replied; 0 when no reply is due. */
    long silentNanos(OptionalLong oldestKeepAlive, OptionalLong oldestCall, long nowNanos) {
        if (oldestKeepAlive.isEmpty() && oldestCall.isEmpty()) {
            return 0;
        }
        long due = Math.max(
                oldestKeepAlive.isEmpty() ? 0 : nowNanos - oldestKeepAlive.getAsLong(),
                oldestCall.isEmpty() ? 0 : nowNanos - oldestCall.getAsLong());
        return replied ? Math.min(due, nowNanos - lastReplyNanos) : due;
    }

    /** When the link counts as frozen unless something is answered before; empty when nothing is awaited. */
    OptionalLong atNanos(OptionalLong oldestKeepAlive, OptionalLong oldestCall, OptionalLong smallestTtlMillis) {
        long patience = smallestTtlMillis.isPresent()
                ? Math.min(callTimeoutNanos, smallestTtlMillis.getAsLong() * NANOS_PER_MILLI / 2)
                : callTimeoutNanos;
        if (oldestCall.isEmpty()) {
            return oldestKeepAlive.isEmpty()
                    ? OptionalLong.empty()
                    : OptionalLong.of(oldestKeepAlive.getAsLong() + patience);
        }
        long since = oldestCall.getAsLong();
        if (replied && lastReplyNanos - since > 0) {
            since = lastReplyNanos;
        }
        if (oldestKeepAlive.isPresent() && oldestKeepAlive.getAsLong() - since < 0) {
            since = oldestKeepAlive.getAsLong();
        }
        return OptionalLong.of(since + patience);
    }
}
