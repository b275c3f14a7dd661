package dev.palisade.server.metrics;

import dev.palisade.server.core.End;
import org.jspecify.annotations.Nullable;

/** How a lease ended, as a label. */
enum LeaseEnd {
    RELEASED,
    EXPIRED,
    ABANDONED,
    FORCE_RELEASED;

    /** Null for the end of a request that was no lease. */
    static @Nullable LeaseEnd of(End end) {
        return switch (end) {
            case RELEASED -> RELEASED;
            case EXPIRED -> EXPIRED;
            case ABANDONED -> ABANDONED;
            case FORCE_RELEASED -> FORCE_RELEASED;
            case LEFT, TIMED_OUT, DROPPED, BUSY -> null;
        };
    }
}
