package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The kind of a refusal: all that a report says of it but its times.
 *
 * @param markToken 0: no newer token was seen
 */
record RefusedKind(LockName lock, String resource, Reason reason, long presentedToken, long markToken) {
    /** The oldest that a report can tell. */
    private static final Duration AGE_MAX = Duration.ofHours(24);

    /** Null when the refusal does not name a lock, a token and a resource: then nothing can be explained. */
    static @Nullable RefusedKind of(Rejection rejection) {
        Map<String, String> known = rejection.metadata();
        String lock = known.get(Rejection.LOCK);
        String resource = known.get(Rejection.RESOURCE);
        String presented = known.get(Rejection.PRESENTED_TOKEN);
        if (lock == null || resource == null || presented == null) {
            return null;
        }
        try {
            return new RefusedKind(
                    new LockName(lock),
                    resource,
                    rejection.reason(),
                    new FencingToken(Long.parseLong(presented)).value(),
                    Long.parseLong(known.getOrDefault(Rejection.MARK_TOKEN, "0")));
        } catch (RejectedException | NumberFormatException e) {
            return null; // Of an interceptor of the application's: its texts are not ours.
        }
    }

    LockService.RefusedCalls report(Times times, long nowNanos) {
        return new LockService.RefusedCalls(
                lock,
                resource,
                reason,
                presentedToken,
                markToken == 0 ? OptionalLong.empty() : OptionalLong.of(markToken),
                markToken == 0 ? Optional.empty() : times.markRaisedAgo(nowNanos),
                age(nowNanos - times.firstNanos()),
                age(nowNanos - times.lastNanos()),
                times.count());
    }

    private static Duration age(long nanos) {
        Duration age = Duration.ofNanos(Math.max(0, nanos));
        return age.compareTo(AGE_MAX) > 0 ? AGE_MAX : age;
    }

    /**
     * When such calls were refused, on the guard's monotonic clock.
     *
     * @param markRaisedMillisBefore how long before the first of them the mark was raised; -1: not known
     */
    record Times(long firstNanos, long lastNanos, long markRaisedMillisBefore, long count) {
        static Times now(Rejection rejection, Time time) {
            long nanos = time.nanos();
            return new Times(nanos, nanos, raisedBefore(rejection, time.millis()), 1);
        }

        private static long raisedBefore(Rejection rejection, long nowMillis) {
            String at = rejection.metadata().get(Rejection.SUPERSEDED_AT_MILLIS);
            try {
                return at == null ? -1 : Math.max(0, nowMillis - Long.parseLong(at));
            } catch (NumberFormatException e) {
                return -1;
            }
        }

        Times and(Times later) {
            return new Times(firstNanos, later.lastNanos, markRaisedMillisBefore, count + later.count);
        }

        /** Empty when it is not known, or longer ago than a report can tell. */
        Optional<Duration> markRaisedAgo(long nowNanos) {
            if (markRaisedMillisBefore < 0) {
                return Optional.empty();
            }
            long sinceFirst = TimeUnit.NANOSECONDS.toMillis(Math.max(0, nowNanos - firstNanos));
            return Optional.of(Duration.ofMillis(markRaisedMillisBefore + sinceFirst))
                    .filter(age -> age.compareTo(AGE_MAX) <= 0);
        }
    }
}
