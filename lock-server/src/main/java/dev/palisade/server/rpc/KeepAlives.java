package dev.palisade.server.rpc;

import java.util.concurrent.CompletionStage;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The keep-alives of one stream: one at a time. Of those that come meanwhile the newest is next, and does all that the others
 * would have done. Safe for use by many threads.
 */
final class KeepAlives {
    private final LongFunction<CompletionStage<?>> renew;
    private final Runnable leftOut;
    private boolean underWay;
    private @Nullable Long next;

    /**
     * @param renew begins with the one of that id; completes when it is answered
     * @param leftOut called for each that a newer one stands for
     */
    KeepAlives(LongFunction<CompletionStage<?>> renew, Runnable leftOut) {
        this.renew = renew;
        this.leftOut = leftOut;
    }

    void came(long id) {
        boolean standsForAnother;
        synchronized (this) {
            standsForAnother = next != null;
            if (underWay) {
                next = id;
            }
            if (underWay && !standsForAnother) {
                return;
            }
            underWay = true;
        }
        if (standsForAnother) {
            leftOut.run();
        } else {
            begin(id);
        }
    }

    private void begin(long id) {
        var unused = renew.apply(id).whenComplete((any, failure) -> {
            Long then;
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
