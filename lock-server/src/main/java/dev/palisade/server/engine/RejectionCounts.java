package dev.palisade.server.engine;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** Count of the rejections that were sent, by reason. Thread-safe. */
public final class RejectionCounts {
    private final Map<Reason, LongAdder> counts = Arrays.stream(Reason.values())
            .collect(Collectors.toUnmodifiableMap(reason -> reason, any -> new LongAdder()));

    /** One more was sent. */
    public void count(Rejection rejection) {
        Objects.requireNonNull(counts.get(rejection.reason())).increment();
    }

    /** How many were sent since the start. */
    public long of(Reason reason) {
        return Objects.requireNonNull(counts.get(reason)).sum();
    }
}
