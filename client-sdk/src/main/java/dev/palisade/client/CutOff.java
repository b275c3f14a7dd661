package dev.palisade.client;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;

/**
 * When a server counts as cut off from its store: for two seconds its replies have been nothing but that it cannot reach it. Another
 * server of the same store may. Keep-alives say nothing about that: with no lease to renew they ask no store. Pure.
 */
final class CutOff {
    private static final long PATIENCE_NANOS = 2_000_000_000;

    private long sinceNanos;
    private boolean refusing;

    /** Takes note of a refusal; true when the server counts as cut off. */
    boolean refused(Rejection rejection, long nowNanos) {
        if (rejection.reason() != Reason.STORE_UNAVAILABLE && rejection.reason() != Reason.SUSPECT_PRIMARY) {
            refusing = false;
            return false;
        }
        if (!refusing) {
            refusing = true;
            sinceNanos = nowNanos;
        }
        return nowNanos - sinceNanos >= PATIENCE_NANOS;
    }

    void answered() {
        refusing = false;
    }
}
