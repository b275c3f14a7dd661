package dev.palisade.client;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;

/**
 * A detector of a server that cannot reach its store: for two seconds all its replies were refusals for that reason.
 * Another server of the same store may reach it. Replies to keep-alives do not count: a keep-alive without leases to
 * renew needs no store. Pure.
 */
final class StoreOutageDetector {
    private static final long THRESHOLD_NANOS = 2_000_000_000;

    private long sinceNanos;
    private boolean refusing;
    private String refusal = "";

    /** Records a refusal; true when the store counts as out of reach. */
    boolean refused(Rejection rejection, long nowNanos) {
        if (rejection.reason() != Reason.STORE_UNAVAILABLE && rejection.reason() != Reason.SUSPECT_PRIMARY) {
            replied();
            return false;
        }
        refusal = rejection.message();
        if (!refusing) {
            refusing = true;
            sinceNanos = nowNanos;
        }
        return nowNanos - sinceNanos >= THRESHOLD_NANOS;
    }

    /** Records any other reply. */
    void replied() {
        refusing = false;
        refusal = "";
    }

    /** The message of the last refusal; empty after any other reply. */
    String refusal() {
        return refusal;
    }
}
