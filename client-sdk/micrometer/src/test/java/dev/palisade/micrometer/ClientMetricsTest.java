package dev.palisade.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireObserver;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.FakePalisade;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LostReason;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link ClientMetrics} of real clients at the fake lock service, whose time the test moves. */
class ClientMetricsTest {
    private final FakePalisade fake = FakePalisade.start();
    private final PalisadeClient palisade = fake.client("orders");
    private final MeterRegistry registry = new SimpleMeterRegistry();

    ClientMetricsTest() {
        new ClientMetrics(palisade).bindTo(registry);
    }

    @AfterEach
    void close() {
        fake.close();
    }

    private long acquires(String outcome) {
        return timer("palisade.client.acquire", "outcome", outcome).count();
    }

    private Timer timer(String name, String key, String value) {
        return registry.get(name).tag(key, value).timer();
    }

    private double gauge(String name) {
        return registry.get(name).gauge().value();
    }

    private double lost(String cause) {
        return registry.get("palisade.client.leases.lost")
                .tag("cause", cause)
                .counter()
                .count();
    }

    @Test
    void aGrantAndItsReleaseAreMeasured() throws Exception {
        Lease lease = palisade.acquire("orders/1");
        assertThat(acquires("granted")).isEqualTo(1);
        assertThat(gauge("palisade.client.leases")).isEqualTo(1);
        assertThat(gauge("palisade.client.waiting")).isZero();

        fake.advance(Duration.ofSeconds(3));
        lease.close();

        assertThat(timer("palisade.client.hold", "end", "released").totalTime(TimeUnit.SECONDS))
                .isBetween(3.0, 3.5);
        assertThat(gauge("palisade.client.leases")).isZero();
        assertThat(timer("palisade.client.wait", "outcome", "granted").count()).isZero();
    }

    @Test
    void aQueuedAcquireIsMeasuredAsAWait() throws Exception {
        Lease held = fake.hold("orders/2");
        CompletableFuture<AcquireResult> waiting =
                palisade.acquireAsync("orders/2", AcquireOptions.waiting(Duration.ofMinutes(1)));
        fake.advance(Duration.ofSeconds(1));
        assertThat(gauge("palisade.client.waiting")).isEqualTo(1);
        assertThat(waiting).isNotDone();
        held.close();
        fake.advance(Duration.ofSeconds(1));
        assertThat(timer("palisade.client.wait", "outcome", "granted").count()).isEqualTo(1);
        assertThat(gauge("palisade.client.waiting")).isZero();
    }

    @Test
    void anAcquireBehindAnotherOfTheClientIsAWaitToo() throws Exception {
        Lease first = palisade.acquire("orders/3");
        AtomicInteger queued = new AtomicInteger();
        palisade.observe((lock, options) -> new AcquireObserver() {
            @Override
            public void queued() {
                queued.incrementAndGet();
            }
        });
        AcquireOptions options = AcquireOptions.waiting(Duration.ofMinutes(1));
        CompletableFuture<AcquireResult> second = palisade.acquireAsync("orders/3", options);
        fake.advance(Duration.ofSeconds(1));
        CompletableFuture<AcquireResult> third = palisade.acquireAsync("orders/3", options);
        fake.advance(Duration.ofSeconds(1));
        assertThat(queued).as("before the lock is free").hasValue(2);
        first.close();
        fake.advance(Duration.ofSeconds(1));

        assertThat(second).isDone();
        assertThat(third).isNotDone();
        assertThat(gauge("palisade.client.waiting")).isEqualTo(1);
        assertThat(gauge("palisade.client.leases")).isEqualTo(1);
        palisade.close();
        assertThat(gauge("palisade.client.waiting")).isZero();
        assertThat(timer("palisade.client.wait", "outcome", "unavailable").count())
                .isEqualTo(1);
        assertThat(lost("client_closed")).isEqualTo(1);
    }

    @Test
    void aLeasePassedOnWithinTheClientEndsForItsHolder() throws Exception {
        Lease first = palisade.acquire("orders/8");
        AcquireOptions options = AcquireOptions.waiting(Duration.ofMinutes(1));
        List<CompletableFuture<AcquireResult>> others = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            others.add(palisade.acquireAsync("orders/8", options));
            fake.advance(Duration.ofSeconds(1));
        }
        first.close();
        for (CompletableFuture<AcquireResult> other : others) {
            fake.advance(Duration.ofSeconds(1));
            ((AcquireResult.Granted) other.join()).lease().close();
        }
        Timer released = timer("palisade.client.hold", "end", "released");
        assertThat(released.count()).isEqualTo(4);
        assertThat(gauge("palisade.client.leases")).isZero();
    }

    @Test
    void eachOutcomeHasALabelOfItsOwn() throws Exception {
        Lease held = fake.hold("orders/4");
        palisade.tryAcquire("orders/4");
        palisade.tryAcquire("orders/4", AcquireOptions.waiting(Duration.ofSeconds(1)));
        held.close();
        fake.stopServer();
        palisade.tryAcquire("orders/4");

        assertThat(acquires("busy")).isEqualTo(1);
        assertThat(acquires("timed_out")).isEqualTo(1);
        assertThat(acquires("unavailable")).isEqualTo(1);
        assertThat(acquires("granted")).isZero();
    }

    @Test
    void aLostLeaseIsCountedByItsCause() throws Exception {
        try (Lease lease = palisade.acquire("orders/5")) {
            fake.expire("orders/5");
            fake.advance(Duration.ofSeconds(1));
            assertThat(lease.isValid()).isFalse();
        }
        assertThat(lost("expired")).isEqualTo(1);
        assertThat(timer("palisade.client.hold", "end", "lost").count()).isEqualTo(1);
        assertThat(timer("palisade.client.hold", "end", "released").count()).isZero();
    }

    @Test
    void aReconnectIsCounted() throws Exception {
        FunctionCounter reconnects = registry.get("palisade.client.reconnects").functionCounter();
        assertThat(reconnects.count()).isZero();
        assertThat(gauge("palisade.client.connected")).isEqualTo(1);
        fake.disconnect(palisade);
        assertThat(gauge("palisade.client.connected")).isZero();
        fake.reconnect(palisade);
        palisade.acquire("orders/6").close();
        assertThat(reconnects.count()).isEqualTo(1);
    }

    @Test
    void twoClientsOfOneRegistryAreToldApartByTags() throws Exception {
        PalisadeClient other = fake.client("billing");
        new ClientMetrics(other, Tags.of("client", "billing")).bindTo(registry);
        other.acquire("billing/1").close();
        assertThat(registry.get("palisade.client.acquire")
                        .tags("outcome", "granted", "client", "billing")
                        .timer()
                        .count())
                .isEqualTo(1);
        assertThat(registry.get("palisade.client.leases")
                        .tag("client", "billing")
                        .gauges())
                .extracting(Gauge::value)
                .containsExactly(0.0);
    }

    @Test
    void anObserverThatThrowsDisturbsNeitherClientNorMetrics() throws Exception {
        palisade.observe((lock, options) -> {
            throw new IllegalStateException("planted");
        });
        palisade.observe((lock, options) -> new AcquireObserver() {
            @Override
            public void ended(AcquireResult result) {
                throw new AssertionError("planted");
            }

            @Override
            public void leaseEnded(Duration held, Optional<LostReason> lost) {
                throw new IllegalStateException("planted");
            }
        });
        Counter sum = registry.counter("test.sum");
        palisade.runLocked("orders/7", AcquireOptions.trying(), lease -> sum.increment());
        assertThat(sum.count()).isEqualTo(1);
        assertThat(timer("palisade.client.hold", "end", "released").count()).isEqualTo(1);
    }
}
