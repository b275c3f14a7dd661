package dev.palisade.micrometer;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.micrometer.LibraryMetric.AdmissionOutcome;
import dev.palisade.micrometer.Meters.Timers;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;

/**
 * A binder of one {@link Guard}'s metrics. Times of admissions are measured from the binding on; all else since the start of the guard. No
 * lock's name is a label. Thread-safe.
 */
public final class GuardMetrics implements MeterBinder {
    private final Guard guard;
    private final Iterable<Tag> tags;

    /** Metrics of {@code guard}, without tags; for an application with one guard. */
    public GuardMetrics(Guard guard) {
        this(guard, List.of());
    }

    /** @param tags of each metric, to tell several guards of one application apart; always with the same keys */
    public GuardMetrics(Guard guard, Iterable<Tag> tags) {
        this.guard = guard;
        this.tags = tags;
    }

    /** Binds the metrics to {@code registry}, for as long as the guard lives. To be called once for each registry. */
    @Override
    public void bindTo(MeterRegistry registry) {
        Meters meters = new Meters(registry, tags);
        meters.counter(
                LibraryMetric.GUARD_ADMISSIONS, null, guard, it -> it.stats().admitted());
        for (Reason reason : Reason.values()) {
            meters.counter(
                    LibraryMetric.GUARD_REFUSALS,
                    reason,
                    guard,
                    it -> it.stats().refused().getOrDefault(reason, 0L));
            meters.counter(
                    LibraryMetric.GUARD_OBSERVED_REFUSALS,
                    reason,
                    guard,
                    it -> it.stats().wouldRefuse().getOrDefault(reason, 0L));
        }
        meters.gauge(LibraryMetric.GUARD_WAITING, guard, it -> it.stats().waiting());
        meters.gauge(LibraryMetric.GUARD_RUNNING, guard, it -> it.stats().running());
        meters.counter(
                LibraryMetric.GUARD_SUPERSEDED, null, guard, it -> it.stats().superseded());
        meters.counter(
                LibraryMetric.GUARD_QUARANTINES, null, guard, it -> it.stats().quarantines());
        meters.gauge(LibraryMetric.GUARD_QUARANTINED, guard, it -> it.stats().quarantined());
        meters.gauge(LibraryMetric.GUARD_MARKS, guard, it -> it.stats().marks());
        meters.gauge(LibraryMetric.GUARD_SERVING, guard, it -> it.isServing() ? 1 : 0);
        meters.counter(
                LibraryMetric.GUARD_LOG_LINES_DROPPED,
                null,
                guard,
                it -> it.stats().logLinesDropped());
        guard.observe(
                new MeasuredArrivals(meters, meters.timers(LibraryMetric.GUARD_ADMISSION, AdmissionOutcome.class)));
    }

    /** An observer that records the time of each call at the guard. */
    private record MeasuredArrivals(Meters meters, Timers<AdmissionOutcome> timers) implements Admission.Observer {
        @Override
        public Admission.Arrival arriving(SignedSequencer signed, Access access, List<Binding> resources) {
            long began = meters.nanos();
            return new Admission.Arrival() {
                @Override
                public void admitted(Admission admission) {
                    end(AdmissionOutcome.ADMITTED);
                }

                @Override
                public void refused(Rejection why) {
                    end(AdmissionOutcome.REFUSED);
                }

                @Override
                public void left() {
                    end(AdmissionOutcome.LEFT);
                }

                private void end(AdmissionOutcome outcome) {
                    timers.record(outcome, meters.nanos() - began);
                }
            };
        }
    }
}
