package dev.palisade.guard.grpc;

import io.grpc.Context;
import io.grpc.Deadline;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Timeout of one call's admission, taken from the deadline of the call: shorter by a margin, in which the refusal
 * reaches the caller.
 */
final class AdmissionTimeout {
    private static final Duration UNLIMITED = Duration.ofNanos(Long.MAX_VALUE);
    private static final long REPLY_MARGIN_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(100);

    private AdmissionTimeout() {}

    static Duration of(Context call) {
        Deadline deadline = call.getDeadline();
        return deadline == null ? UNLIMITED : withReplyMargin(deadline.timeRemaining(TimeUnit.NANOSECONDS));
    }

    /** The margin is a tenth of the remaining time, at most 100 ms. */
    static Duration withReplyMargin(long leftNanos) {
        return Duration.ofNanos(Math.max(0, leftNanos - Math.min(leftNanos / 10, REPLY_MARGIN_NANOS_MAX)));
    }
}
