package dev.palisade.gateway;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import io.netty.util.internal.PlatformDependent;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bound on the requests that run at a time, by the memory for their bodies. Beyond it a request is refused before it is
 * forwarded: without memory no request could be answered any more, those of other clients neither. Safe for use by
 * several threads.
 */
final class RunningRequests {
    /** Of one request: what is held of its body and of its response while neither side reads. */
    private static final long BYTES_EACH = 512 << 10;

    private static final int LEAST = 16;

    private final int max;
    private final AtomicInteger running = new AtomicInteger();

    /** @param max 1 or more */
    RunningRequests(int max) {
        this.max = max;
    }

    /** Leaves a quarter of the memory to everything else. */
    static RunningRequests withinMemory() {
        long most = PlatformDependent.maxDirectMemory() / 4 * 3 / BYTES_EACH;
        return new RunningRequests((int) Math.max(LEAST, Math.min(most, Integer.MAX_VALUE)));
    }

    /** As how many requests a message counts that is held as a whole, beside its own one. */
    static int placesFor(long bytes) {
        return (int) ((bytes + BYTES_EACH - 1) / BYTES_EACH);
    }

    /** Whether {@code places} more may run; they end with {@link #leave}. */
    boolean enter(int places) {
        if (running.addAndGet(places) <= max) {
            return true;
        }
        leave(places);
        return false;
    }

    void leave(int places) {
        running.addAndGet(-places);
    }

    Rejection refusal() {
        return new Rejection(
                        Reason.LIMIT_EXCEEDED,
                        max + " requests run in this gateway already, more than its memory is for; nothing was applied:"
                                + " try again later")
                .with(Rejection.LIMIT, "runningRequests");
    }
}
