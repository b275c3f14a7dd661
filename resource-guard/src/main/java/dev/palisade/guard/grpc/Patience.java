package dev.palisade.guard.grpc;

import io.grpc.Context;
import io.grpc.Deadline;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How long a call waits for the guard: not past its own deadline, and a little less, so that the refusal still arrives. */
final class Patience {
    private static final Duration ENDLESS = Duration.ofNanos(Long.MAX_VALUE);
    private static final long WAY_BACK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(100);

    private Patience() {}

    static Duration of(Context call) {
        Deadline deadline = call.getDeadline();
        return deadline == null ? ENDLESS : before(deadline.timeRemaining(TimeUnit.NANOSECONDS));
    }

    /** A tenth of the time that is left, at most 100 ms, is for the way back. */
    static Duration before(long leftNanos) {
        return Duration.ofNanos(Math.max(0, leftNanos - Math.min(leftNanos / 10, WAY_BACK_NANOS_MAX)));
    }
}
