package dev.palisade.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.FakePalisade;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link GuardMetrics} of a guard that gets sequencers of the fake lock service. */
class GuardMetricsTest {
    private static final Binding ORDER = Binding.of("orders/1");

    private final FakePalisade fake = FakePalisade.start();
    private final PalisadeClient palisade = fake.client("orders");
    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final Guard guard;

    GuardMetricsTest(@TempDir Path marks) {
        guard = builder(marks.resolve("marks")).build();
        new GuardMetrics(guard).bindTo(registry);
    }

    private Guard.Builder builder(Path marks) {
        MarkStore.createNeverUsed(marks);
        return Guard.builder(fake.verifier(), MarkStore.file(marks)).unknownOutcomeTimeout(Duration.ofMinutes(30));
    }

    @AfterEach
    void close() {
        guard.close();
        fake.close();
    }

    private double gauge(String name) {
        return registry.get(name).gauge().value();
    }

    private double counter(String name) {
        return registry.get(name).functionCounter().count();
    }

    private double refusals(String name, Reason reason) {
        return registry.get(name).tag("reason", reason.name()).functionCounter().count();
    }

    private long admissions(String outcome) {
        return registry.get("palisade.guard.admission")
                .tag("outcome", outcome)
                .timer()
                .count();
    }

    private SignedSequencer sequencer() throws InterruptedException {
        try (Lease lease = palisade.acquire("orders/1")) {
            return lease.sequencer();
        }
    }

    @Test
    void admissionsRunningCallsAndMarksAreShown() throws Exception {
        SignedSequencer mine = sequencer();
        try (Admission first = guard.enter(mine, Access.WRITE, ORDER);
                Admission second = guard.enter(mine, Access.WRITE, ORDER)) {
            assertThat(first.sequencer()).isEqualTo(second.sequencer());
            assertThat(gauge("palisade.guard.running")).isEqualTo(2);
            assertThat(gauge("palisade.guard.marks")).isEqualTo(1);
        }
        assertThat(gauge("palisade.guard.running")).isZero();
        assertThat(counter("palisade.guard.admissions")).isEqualTo(2);
        assertThat(admissions("admitted")).isEqualTo(2);
        assertThat(gauge("palisade.guard.serving")).isEqualTo(1);
    }

    @Test
    void aStaleCallIsARefusalWithItsReason() throws Exception {
        SignedSequencer stale = sequencer();
        guard.enter(sequencer(), Access.WRITE, ORDER).close();
        assertThatThrownBy(() -> guard.enter(stale, Access.WRITE, ORDER)).isInstanceOf(RejectedException.class);

        assertThat(refusals("palisade.guard.refusals", Reason.TOKEN_STALE)).isEqualTo(1);
        assertThat(refusals("palisade.guard.refusals", Reason.DRAINING)).isZero();
        assertThat(admissions("refused")).isEqualTo(1);
        assertThat(refusals("palisade.guard.observed.refusals", Reason.TOKEN_STALE))
                .isZero();
    }

    @Test
    void aNewerGrantThatWaitsIsADrain() throws Exception {
        Admission older = guard.enter(sequencer(), Access.WRITE, ORDER);
        CompletableFuture<Admission> newer = guard.enterAsync(sequencer(), Access.WRITE, ORDER);
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        older.onSuperseded(() -> stopped.complete(null));
        stopped.join();
        assertThat(newer).isNotDone();
        assertThat(counter("palisade.guard.superseded")).isEqualTo(1);
        assertThat(gauge("palisade.guard.waiting")).isEqualTo(1);
        CompletableFuture<Long> atItsStart = newer.thenApply(admission -> admissions("admitted"));
        older.close();
        assertThat(atItsStart.join()).as("measured before the call runs").isEqualTo(2);
        newer.join().close();
        assertThat(gauge("palisade.guard.waiting")).isZero();
        assertThat(gauge("palisade.guard.running")).isZero();
    }

    @Test
    void aCallerThatLeavesIsNeitherAdmittedNorRefused() throws Exception {
        try (Admission older = guard.enter(sequencer(), Access.WRITE, ORDER)) {
            assertThat(older.sequencer()).isPresent();
            guard.enterAsync(sequencer(), Access.WRITE, ORDER).cancel(false);
        }
        assertThat(admissions("left")).isEqualTo(1);
        assertThat(admissions("refused")).isZero();
        assertThat(admissions("admitted")).isEqualTo(1);
    }

    @Test
    void aQuarantineIsCountedAndEnds() throws Exception {
        Admission call = guard.enter(sequencer(), Access.WRITE, ORDER);
        assertThat(call.outcomeUnknown().toCompletableFuture()).isCompleted();
        assertThat(counter("palisade.guard.quarantines")).isEqualTo(1);
        assertThat(gauge("palisade.guard.running")).isZero();
        assertThat(gauge("palisade.guard.quarantined")).isEqualTo(1);
        call.close();
        assertThat(gauge("palisade.guard.quarantined")).isZero();
        try (Admission next = guard.enter(sequencer(), Access.WRITE, ORDER)) {
            assertThat(next.sequencer()).isPresent();
            assertThat(gauge("palisade.guard.running")).isEqualTo(1);
        }
    }

    @Test
    void anObservingGuardCountsWhatItWouldRefuse(@TempDir Path marks) throws Exception {
        try (Guard observing = builder(marks.resolve("more")).observeOnly().build()) {
            MeterRegistry own = new SimpleMeterRegistry();
            new GuardMetrics(observing).bindTo(own);
            SignedSequencer stale = sequencer();
            observing.enter(sequencer(), Access.WRITE, ORDER).close();
            observing.enter(stale, Access.WRITE, ORDER).close();
            assertThat(own.get("palisade.guard.observed.refusals")
                            .tag("reason", "TOKEN_STALE")
                            .functionCounter()
                            .count())
                    .isEqualTo(1);
            assertThat(own.get("palisade.guard.running").gauge().value()).isZero();
        }
    }

    @Test
    void anObserverThatThrowsDisturbsNeitherGuardNorMetrics() throws Exception {
        guard.observe(new Admission.Observer() {
            @Override
            public Admission.Arrival arriving(SignedSequencer signed, Access access, List<Binding> resources) {
                throw new IllegalStateException("planted");
            }

            @Override
            public void refused(Rejection why) {
                throw new IllegalStateException("planted");
            }
        });
        guard.enter(sequencer(), Access.WRITE, ORDER).close();
        assertThat(guard.recordRefusal(new Rejection(Reason.SEQUENCER_MISSING, "planted")))
                .isTrue();
        assertThat(admissions("admitted")).isEqualTo(1);
    }
}
