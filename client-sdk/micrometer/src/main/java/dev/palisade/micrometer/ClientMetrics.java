package dev.palisade.micrometer;

import dev.palisade.client.AcquireObserver;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LostReason;
import dev.palisade.micrometer.LibraryMetric.AcquireOutcome;
import dev.palisade.micrometer.LibraryMetric.LeaseEnd;
import dev.palisade.micrometer.Meters.Timers;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A binder of one {@link PalisadeClient}'s metrics. Acquires are measured from the binding on. No lock's name is a label. Thread-safe.
 */
public final class ClientMetrics implements MeterBinder {
    private final PalisadeClient client;
    private final Iterable<Tag> tags;

    /** Metrics of {@code client}, without tags; for an application with one client. */
    public ClientMetrics(PalisadeClient client) {
        this(client, List.of());
    }

    /** @param tags of each metric, to tell several clients of one application apart; always with the same keys */
    public ClientMetrics(PalisadeClient client, Iterable<Tag> tags) {
        this.client = client;
        this.tags = tags;
    }

    /** Binds the metrics to {@code registry}, for as long as the client lives. To be called once for each registry. */
    @Override
    public void bindTo(MeterRegistry registry) {
        Meters meters = new Meters(registry, tags);
        Measures measures = new Measures(
                meters,
                meters.timers(LibraryMetric.CLIENT_ACQUIRE, AcquireOutcome.class),
                meters.timers(LibraryMetric.CLIENT_WAIT, AcquireOutcome.class),
                meters.timers(LibraryMetric.CLIENT_HOLD, LeaseEnd.class),
                meters.counters(LibraryMetric.CLIENT_LEASES_LOST, LostReason.class));
        meters.gauge(LibraryMetric.CLIENT_LEASES, client, it -> it.stats().leases());
        meters.gauge(LibraryMetric.CLIENT_WAITING, client, it -> it.stats().waiting());
        meters.gauge(LibraryMetric.CLIENT_CONNECTED, client, it -> it.isConnected() ? 1 : 0);
        meters.counter(
                LibraryMetric.CLIENT_RECONNECTS, null, client, it -> it.stats().reconnects());
        client.observe((lock, options) -> new MeasuredAcquire(measures, meters.nanos()));
    }

    private record Measures(
            Meters meters,
            Timers<AcquireOutcome> acquire,
            Timers<AcquireOutcome> queue,
            Timers<LeaseEnd> hold,
            Map<LostReason, Counter> lost) {}

    /** An observer of one acquire that records its times. */
    private static final class MeasuredAcquire implements AcquireObserver {
        private final Measures measures;
        private final long beganNanos;
        private volatile long queuedNanos;
        private volatile boolean queued;

        private MeasuredAcquire(Measures measures, long beganNanos) {
            this.measures = measures;
            this.beganNanos = beganNanos;
        }

        @Override
        public void queued() {
            queuedNanos = measures.meters().nanos();
            queued = true;
        }

        @Override
        public void ended(AcquireResult result) {
            record(outcome(result));
        }

        private static AcquireOutcome outcome(AcquireResult result) {
            if (result instanceof AcquireResult.Granted) {
                return AcquireOutcome.GRANTED;
            }
            if (result instanceof AcquireResult.Busy) {
                return AcquireOutcome.BUSY;
            }
            return result instanceof AcquireResult.TimedOut ? AcquireOutcome.TIMED_OUT : AcquireOutcome.UNAVAILABLE;
        }

        @Override
        public void failed(RuntimeException failure) {
            record(AcquireOutcome.FAILED);
        }

        private void record(AcquireOutcome outcome) {
            long now = measures.meters().nanos();
            measures.acquire().record(outcome, now - beganNanos);
            if (queued) {
                measures.queue().record(outcome, now - queuedNanos);
            }
        }

        @Override
        public void leaseEnded(Duration held, Optional<LostReason> lost) {
            measures.hold().record(lost.isPresent() ? LeaseEnd.LOST : LeaseEnd.RELEASED, held.toNanos());
            lost.map(measures.lost()::get).ifPresent(Counter::increment);
        }
    }
}
