package dev.palisade.server.rpc;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The keep-alives of one stream: one at a time. Of those that come meanwhile the newest is next, and does all that the others
 * would have done. Safe for use by many threads.
 */
final class KeepAlives {
    private final Begin begin;
    private final Runnable leftOut;
    private boolean underWay;
    private @Nullable KeepAliveIds next;

    /** Begins with keep-alives; the result completes when they are answered. */
    interface Begin {
        CompletionStage<?> begin(KeepAliveIds ids);
    }

    /**
     * Keep-alives that are answered together.
     *
     * @param newest of them
     * @param renews whether one of them renews the leases
     * @param renewing the newest that does; 0 if none does
     */
    record KeepAliveIds(long newest, boolean renews, long renewing) {
        static KeepAliveIds of(long id, boolean renews) {
            return new KeepAliveIds(id, renews, renews ? id : 0);
        }

        KeepAliveIds withSign(long id) {
            return new KeepAliveIds(id, renews, renewing);
        }
    }

    /**
     * @param begin called for one at a time
     * @param leftOut called for each that a newer one stands for
     */
    KeepAlives(Begin begin, Runnable leftOut) {
        this.begin = begin;
        this.leftOut = leftOut;
    }

    /** @param renews whether it renews the leases; else it is only a sign of life */
    void came(long id, boolean renews) {
        boolean standsForAnother;
        KeepAliveIds ids = KeepAliveIds.of(id, renews);
        synchronized (this) {
            standsForAnother = next != null;
            if (underWay) {
                next = next == null || renews ? ids : next.withSign(id);
            }
            if (underWay && !standsForAnother) {
                return;
            }
            underWay = true;
        }
        if (standsForAnother) {
            leftOut.run();
        } else {
            begin(ids);
        }
    }

    private void begin(KeepAliveIds ids) {
        var unused = begin.begin(ids).whenComplete((any, failure) -> {
            KeepAliveIds then;
            synchronized (this) {
                then = next;
                next = null;
                underWay = then != null;
            }
            if (then != null) {
                begin(then);
            }
        });
    }
}
