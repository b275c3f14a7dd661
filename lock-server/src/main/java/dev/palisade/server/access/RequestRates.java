package dev.palisade.server.access;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.TimeMeter;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** What each principal may still ask in this second: a bucket for each, which refills all the time. Thread-safe. */
final class RequestRates {
    /** Far more than a policy names; a server that meets more starts them afresh. */
    private static final int PRINCIPALS_MAX = 10_000;

    private final TimeMeter time;
    private final Map<String, Rate> rates = new ConcurrentHashMap<>();

    private record Rate(int perSecond, Bucket bucket) {}

    /** @param nanos monotonic */
    RequestRates(LongSupplier nanos) {
        time = new TimeMeter() {
            @Override
            public long currentTimeNanos() {
                return nanos.getAsLong();
            }

            @Override
            public boolean isWallClockBased() {
                return false;
            }
        };
    }

    /**
     * Takes one request of {@code principal}.
     *
     * @return 0, or nanoseconds until there is one to take
     */
    long take(String principal, int perSecond) {
        if (rates.size() > PRINCIPALS_MAX) {
            rates.clear();
        }
        Rate rate = rates.compute(
                principal, (same, known) -> known != null && known.perSecond() == perSecond ? known : rate(perSecond));
        return rate.bucket().tryConsumeAndReturnRemaining(1).getNanosToWaitForRefill();
    }

    private Rate rate(int perSecond) {
        return new Rate(
                perSecond,
                Bucket.builder()
                        .addLimit(limit -> limit.capacity(perSecond).refillGreedy(perSecond, Duration.ofSeconds(1)))
                        .withCustomTimePrecision(time)
                        .build());
    }

    int size() {
        return rates.size();
    }
}
