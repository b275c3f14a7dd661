package dev.palisade.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Request;
import dev.palisade.server.engine.EngineConfig;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What becomes of requests and leases, as numbers; time is in the test's hand. */
class MeteredStoreTest {
    private static final LockName LOCK = new LockName("secret-lock");
    private static final SessionId SESSION = new SessionId(7, 7);
    private static final int TTL_MILLIS = 10_000;

    private final AtomicLong nanos = new AtomicLong(1);
    private final MemoryStore memory = new MemoryStore();
    private final ServerMetrics metrics = new ServerMetrics();
    private final MeteredStore store = new MeteredStore(memory, metrics, nanos::get);
    private LockState last = LockState.unused(LOCK, 0);
    private final List<String> told = new ArrayList<>();

    @BeforeEach
    void listen() {
        store.listen(new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                last = next;
            }

            @Override
            public void told() {}

            @Override
            public void deposed(StoreFailure why) {
                told.add("deposed");
            }

            @Override
            public void takeoverEnded() {
                told.add("taken over");
            }
        });
    }

    @Test
    void takeoversAreToldAsTheStoreTellsThem() {
        memory.standsBy(StoreFailure.notActive("b:1 is active", "b:1", false));
        assertThat(told).containsExactly("deposed", "taken over");
    }

    @AfterEach
    void close() {
        metrics.close();
    }

    private Answer execute(Command command) {
        return store.execute(command).toCompletableFuture().join();
    }

    private Answer acquire(long number, long waitMillis) {
        Request request = new Request(
                new RequestId(SESSION, number),
                1,
                new GrantId(9, number),
                Mode.EXCLUSIVE,
                TTL_MILLIS,
                0,
                0,
                "secret-owner",
                "secret-purpose");
        return execute(new Acquire(LOCK, request, waitMillis, 0, Long.MAX_VALUE));
    }

    private Grant granted(Answer answer) {
        return ((Answer.Granted) answer).grant();
    }

    private void release(Grant grant) {
        assertThat(execute(new Release(LOCK, grant.id(), grant.token(), SESSION)))
                .isInstanceOf(Answer.Released.class);
    }

    private void passes(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
        memory.passes(millis);
    }

    private Scraped scraped() {
        return new Scraped(metrics.scrape(List.of()).text());
    }

    private double value(String series) {
        return scraped().value(series);
    }

    @Test
    void aHoldLastsFromTheGrantToTheRelease() {
        Grant grant = granted(acquire(1, 0));
        assertThat(granted(acquire(1, 0))).isEqualTo(grant); // The same request once more is no other grant.
        passes(3_000);
        release(grant);
        Scraped now = scraped();
        assertThat(now.value("palisade_leases_granted_total{mode=\"exclusive\"}"))
                .isEqualTo(1);
        assertThat(now.value("palisade_leases_ended_total{end=\"released\"}")).isEqualTo(1);
        assertThat(now.value("palisade_hold_seconds_count{end=\"released\"}")).isEqualTo(1);
        assertThat(now.value("palisade_hold_seconds_sum{end=\"released\"}")).isEqualTo(3);
        assertThat(now.value("palisade_acquire_seconds_count{outcome=\"granted\"}"))
                .isEqualTo(2);
        assertThat(now.value("palisade_store_command_seconds_count{command=\"release\"}"))
                .isEqualTo(1);
        assertThat(now.value("palisade_store_batch_count")).isPositive();
    }

    @Test
    void aWaitEndsWithTheOfferAndTheHoldBeginsWithItsAcceptance() {
        Grant first = granted(acquire(1, 0));
        assertThat(acquire(2, 60_000)).isInstanceOf(Answer.Queued.class);
        passes(2_000);
        release(first);
        Scraped offered = scraped();
        assertThat(offered.value("palisade_offers_total")).isEqualTo(1);
        assertThat(offered.value("palisade_wait_seconds_sum{end=\"offered\"}")).isEqualTo(2);
        assertThat(offered.value("palisade_leases_granted_total{mode=\"exclusive\"}"))
                .isEqualTo(1);
        Grant promised = last.promised(new RequestId(SESSION, 2)).orElseThrow();
        Grant second = granted(execute(new Accept(LOCK, promised.id(), promised.token(), SESSION, 1)));
        passes(1_000);
        release(second);
        assertThat(value("palisade_leases_granted_total{mode=\"exclusive\"}")).isEqualTo(2);
        assertThat(value("palisade_hold_seconds_sum{end=\"released\"}")).isEqualTo(3);
    }

    @Test
    void aWaiterThatReleasesItsOfferHadTheLease() {
        Grant first = granted(acquire(1, 0));
        assertThat(acquire(2, 60_000)).isInstanceOf(Answer.Queued.class);
        release(first);
        Grant promised = last.promised(new RequestId(SESSION, 2)).orElseThrow();
        passes(1);
        release(promised);
        assertThat(value("palisade_leases_granted_total{mode=\"exclusive\"}")).isEqualTo(2);
        assertThat(value("palisade_leases_ended_total{end=\"released\"}")).isEqualTo(2);
        assertThat(value("palisade_hold_seconds_count{end=\"released\"}")).isEqualTo(2);
        assertThat(value("palisade_hold_seconds_sum{end=\"released\"}")).isEqualTo(0.001);
    }

    @Test
    void aWaitThatRunsOutIsNoLease() {
        var unused = granted(acquire(1, 0));
        assertThat(acquire(2, 1_000)).isInstanceOf(Answer.Queued.class);
        passes(1_000);
        assertThat(value("palisade_wait_seconds_sum{end=\"timed_out\"}")).isEqualTo(1);
        assertThat(value("palisade_wait_seconds_count{end=\"offered\"}")).isZero();
        assertThat(value("palisade_leases_ended_total{end=\"released\"}")).isZero();
    }

    @Test
    void expiryAndForcedReleaseAreCountedApart() {
        var unused = granted(acquire(1, 0));
        passes(TTL_MILLIS);
        assertThat(granted(acquire(2, 0)).token().value()).isPositive();
        assertThat(execute(new ForceRelease(LOCK, 0, "alice", "stuck"))).isInstanceOf(Answer.ForceReleased.class);
        assertThat(value("palisade_leases_ended_total{end=\"expired\"}")).isEqualTo(1);
        assertThat(value("palisade_leases_ended_total{end=\"force_released\"}")).isEqualTo(1);
        assertThat(value("palisade_hold_seconds_sum{end=\"expired\"}")).isEqualTo(10);
    }

    @Test
    void outcomesOfAnAcquireAreToldApart() {
        var unused = granted(acquire(1, 0));
        assertThat(acquire(2, 0)).isInstanceOf(Answer.Busy.class);
        memory.refusesWith(Reason.RECOVERING);
        assertThat(acquire(3, 0)).isInstanceOf(Answer.Refused.class);
        memory.refusesWith(null);
        memory.fails(StoreFailure.unavailable("down"));
        assertThat(store.execute(command(4)).toCompletableFuture()).isCompletedExceptionally();
        memory.fails(StoreFailure.outcomeUnknown("lost"));
        assertThat(store.execute(command(5)).toCompletableFuture()).isCompletedExceptionally();
        Scraped now = scraped();
        for (String outcome : List.of("granted", "busy", "refused", "unavailable", "unknown")) {
            assertThat(now.value("palisade_acquire_seconds_count{outcome=\"" + outcome + "\"}"))
                    .as(outcome)
                    .isEqualTo(1);
        }
    }

    private static Acquire command(long number) {
        Request request = new Request(
                new RequestId(SESSION, number), 1, new GrantId(9, number), Mode.SHARED, TTL_MILLIS, 0, 0, "", "");
        return new Acquire(LOCK, request, 0, 0, Long.MAX_VALUE);
    }

    @Test
    void everyKindOfCommandHasALabel() {
        assertThat(Command.class.getPermittedSubclasses())
                .allSatisfy(type -> assertThat(StoreCommand.of(type.asSubclass(Command.class))
                                .name()
                                .replace("_", ""))
                        .isEqualToIgnoringCase(type.getSimpleName()));
    }

    /** A label of a lock, an owner or a principal would be one series for each. */
    @Test
    void theExpositionHasTheCatalogueAndNothingOfAClient() {
        LockEngine engine = new LockEngine(
                new MemoryStore(),
                sequencer -> {
                    throw new IllegalStateException();
                },
                signed -> {
                    throw new IllegalStateException();
                },
                new EngineConfig("palisade", 1_000, 100, 100),
                (millis, task) -> {},
                EventLog.NONE,
                new byte[16]);
        metrics.observe(
                engine,
                new ServerMetrics.Readings(() -> 1, () -> 2, () -> 3, () -> 4, () -> 5),
                new ServerMetrics.Credentials(
                        file -> file != CredentialFile.POLICY,
                        () -> Optional.of(Instant.ofEpochSecond(1_800_000_000)),
                        listener -> 7));
        var unused = granted(acquire(1, 0));
        System.gc(); // What is only weakly held is lost by it.
        engine.rejections().count(new Rejection(Reason.QUEUE_FULL, "as the test wants"));
        Scraped now = scraped();
        Map<String, String> expected = new TreeMap<>();
        for (ServerMetric metric : ServerMetric.values()) {
            expected.put(metric.exposedName(), metric.exposedType());
            if (metric.exposedType().equals("histogram")) {
                expected.put(metric.exposedName() + "_max", "gauge");
            }
            assertThat(now.labels(metric.exposedName()))
                    .as(metric.exposedName())
                    .isEqualTo(
                            metric.labelKey().isEmpty()
                                    ? Map.of()
                                    : Map.of(metric.labelKey(), new TreeSet<>(metric.labelValues())));
        }
        assertThat(now.types("palisade_")).isEqualTo(expected);
        assertThat(metrics.scrape(List.of()).text()).doesNotContain("secret");
        assertThat(now.value("palisade_refusals_total{reason=\"QUEUE_FULL\"}")).isEqualTo(1);
        assertThat(now.value("palisade_unsent_bytes")).isEqualTo(3);
        assertThat(now.value("palisade_unusable_files{file=\"policy\"}")).isEqualTo(1);
        assertThat(now.value("palisade_unusable_files{file=\"keyset\"}")).isZero();
        assertThat(now.value("palisade_certificate_expiry_timestamp_seconds{listener=\"locks\"}"))
                .isEqualTo(1_800_000_000);
        assertThat(now.value("palisade_log_lines_dropped_total{cause=\"unread\"}"))
                .isEqualTo(5);
    }

    @Test
    void openMetricsIsSentToThoseThatAcceptIt() {
        ServerMetrics.Exposition open =
                metrics.scrape(List.of("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
        assertThat(open.contentType()).startsWith("application/openmetrics-text");
        assertThat(open.text()).endsWith("# EOF\n");
        assertThat(metrics.scrape(List.of("text/html")).contentType()).startsWith("text/plain; version=0.0.4");
    }

    @Test
    void startsThatNeverEndCostABoundedMemory() {
        StartTimes<Integer> starts = new StartTimes<>(2);
        assertThat(starts.began(1, 10)).isTrue();
        assertThat(starts.began(1, 20)).isFalse();
        assertThat(starts.began(2, 10)).isTrue();
        assertThat(starts.began(3, 10)).isTrue();
        assertThat(starts.ended(1, 30)).isEmpty();
        assertThat(starts.ended(2, 30)).hasValue(20);
        assertThat(starts.ended(2, 30)).isEmpty();
        starts.beganAgain(3, 25);
        assertThat(starts.ended(3, 30)).hasValue(5);
    }

    @Test
    void labelsAreTheFewWordsOfTheCatalogue() {
        for (ServerMetric metric : ServerMetric.values()) {
            assertThat(metric.labelValues()).as(metric.exposedName()).hasSizeLessThanOrEqualTo(25);
            assertThat(Set.copyOf(metric.labelValues()))
                    .hasSize(metric.labelValues().size());
        }
        assertThat(Arrays.stream(ServerMetric.values())
                        .map(ServerMetric::labelKey)
                        .filter(key -> !key.isEmpty())
                        .distinct())
                .containsExactlyInAnyOrder(
                        "outcome", "end", "mode", "state", "reason", "command", "cause", "file", "listener");
    }
}
