package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.LockService.RefusedCalls;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class RefusalReporterTest {
    private static final Duration GATHER = Duration.ofMillis(200);

    private final ManualTime time = new ManualTime();
    private final List<String> events = new ArrayList<>();
    private final List<List<RefusedCalls>> reports = new ArrayList<>();
    private CompletableFuture<Boolean> reply = CompletableFuture.completedFuture(true);
    private String name = "shop";
    private final RefusalReporter reporter =
            new RefusalReporter(service(), time, new EventLog(events::add, time::nanos, 100), () -> name);

    /** Of a lock service nothing is called but reports. */
    private LockService service() {
        return (LockService) Proxy.newProxyInstance(
                LockService.class.getClassLoader(), new Class<?>[] {LockService.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("reportRefusals");
                    assertThat((String) arguments[0]).isNotEmpty().hasSizeLessThanOrEqualTo(256);
                    @SuppressWarnings("unchecked")
                    List<RefusedCalls> report = (List<RefusedCalls>) arguments[1];
                    reports.add(report);
                    return reply;
                });
    }

    private static Rejection stale(long token) {
        return new Rejection(
                Reason.TOKEN_STALE,
                "no",
                Map.of(
                        Rejection.LOCK,
                        "orders",
                        Rejection.RESOURCE,
                        "r",
                        Rejection.PRESENTED_TOKEN,
                        Long.toString(token),
                        Rejection.MARK_TOKEN,
                        "900",
                        Rejection.SUPERSEDED_AT_MILLIS,
                        Long.toString(1_700_000_000_000L - 5_000)));
    }

    @Test
    void equalRefusalsAreOneWithTheirAges() {
        reporter.add(stale(33));
        time.pass(Duration.ofMillis(150));
        reporter.add(stale(33));
        reporter.add(stale(34));
        assertThat(reports).isEmpty();
        time.pass(Duration.ofMillis(50));
        assertThat(reports).hasSize(1);
        assertThat(reports.get(0).stream().map(RefusedCalls::presentedToken)).containsExactly(33L, 34L);
        RefusedCalls first = reports.get(0).get(0);
        assertThat(first.count()).isEqualTo(2);
        assertThat(first.markToken()).isEqualTo(OptionalLong.of(900));
        assertThat(first.firstAgo()).isEqualTo(Duration.ofMillis(200));
        assertThat(first.lastAgo()).isEqualTo(Duration.ofMillis(50));
        assertThat(first.markRaisedAgo()).contains(Duration.ofMillis(5_200));
        time.pass(GATHER);
        assertThat(reports).as("nothing new").hasSize(1);
        assertThat(time.timers()).as("an idle reporter sets no timer").isZero();
    }

    @Test
    void oneReportIsOnItsWayAtATime() {
        reply = new CompletableFuture<>();
        reporter.add(stale(33));
        time.pass(GATHER);
        reporter.add(stale(34));
        time.pass(Duration.ofHours(1));
        assertThat(reports).hasSize(1);
        reply.complete(true);
        time.pass(GATHER);
        assertThat(reports).hasSize(2);
    }

    @Test
    void aFullQueueDropsTheOldestAndCountsThem() {
        for (int token = 1; token <= RefusalReporter.QUEUE_MAX + 7; token++) {
            reporter.add(stale(token));
        }
        time.pass(GATHER);
        assertThat(reports.get(0)).hasSize(RefusalReporter.QUEUE_MAX);
        assertThat(reports.get(0).get(0).presentedToken()).isEqualTo(8);
        assertThat(events).containsExactly("event=refusals_dropped count=7");
    }

    @Test
    void aServerThatIsAwayIsAskedLessAndLessOften() {
        reply = CompletableFuture.failedFuture(new Rejection(Reason.STORE_UNAVAILABLE, "away").asException());
        reporter.add(stale(33));
        time.pass(GATHER);
        assertThat(reports).hasSize(1);
        time.pass(Duration.ofMillis(999));
        assertThat(reports).hasSize(1);
        time.pass(Duration.ofMillis(1));
        assertThat(reports).hasSize(2);
        for (int i = 0; i < 10; i++) {
            time.pass(Duration.ofMinutes(1));
        }
        assertThat(reports.size()).isBetween(10, 12);
        assertThat(events).singleElement().asString().startsWith("event=refusals_not_reported");
        for (int token = 1; token <= 10_000; token++) {
            reporter.add(stale(token));
        }
        reply = CompletableFuture.completedFuture(true);
        time.pass(Duration.ofMinutes(1));
        List<RefusedCalls> last = reports.get(reports.size() - 1);
        assertThat(last).as("memory stays bounded").hasSize(RefusalReporter.QUEUE_MAX);
        assertThat(last.get(RefusalReporter.QUEUE_MAX - 1).presentedToken()).isEqualTo(10_000);
    }

    @Test
    void whatCouldNotBeSentIsSentLater() {
        reply = new CompletableFuture<>();
        reporter.add(stale(33));
        time.pass(GATHER);
        reporter.add(stale(33));
        reply.completeExceptionally(new Rejection(Reason.STORE_UNAVAILABLE, "away").asException());
        reply = CompletableFuture.completedFuture(true);
        time.pass(Duration.ofSeconds(1));
        assertThat(reports.get(1))
                .singleElement()
                .satisfies(calls -> assertThat(calls.count()).isEqualTo(2));
    }

    @Test
    void anOlderServerIsLeftAloneForTenMinutes() {
        reply = CompletableFuture.completedFuture(false);
        reporter.add(stale(33));
        time.pass(GATHER);
        reporter.add(stale(34));
        time.pass(Duration.ofMinutes(9));
        assertThat(reports).hasSize(1);
        time.pass(Duration.ofMinutes(1));
        assertThat(reports).hasSize(2);
    }

    @Test
    void aClosedReporterSendsNothing() {
        reporter.add(stale(33));
        reporter.close();
        time.pass(GATHER);
        reporter.add(stale(34));
        time.pass(Duration.ofHours(1));
        assertThat(reports).isEmpty();
        assertThat(time.timers()).isZero();
    }

    /** A job that ends on a stale write closes its reporter right after it. */
    @Test
    void whatWaitsIsSentBeforeTheEnd() throws Exception {
        reporter.add(stale(33));
        reporter.closeAfterReport(1);
        assertThat(reports.get(0).get(0).presentedToken()).isEqualTo(33);
        reporter.add(stale(34));
        time.pass(Duration.ofHours(1));
        assertThat(reports).hasSize(1);
        assertThat(events).isEmpty();
    }

    @Test
    void theEndDoesNotWaitForALockServerThatIsSilent() throws Exception {
        reply = new CompletableFuture<>();
        reporter.add(stale(33));
        time.pass(GATHER);
        reporter.add(stale(34));
        reporter.closeAfterReport(1_000_000);
        assertThat(reports).hasSize(1);
        assertThat(events)
                .containsExactly(
                        "event=refusals_not_reported message=\"no reply within 1 ms, and the reporter was closed\"");
    }

    @Test
    void aRefusalWithoutALockOrTokenIsNotReported() {
        reporter.add(new Rejection(Reason.SEQUENCER_MISSING, "none"));
        reporter.add(stale(33).with(Rejection.PRESENTED_TOKEN, "many"));
        reporter.add(stale(33).with(Rejection.LOCK, ""));
        assertThat(time.timers()).isZero();
    }

    @Test
    void aNameThatIsTooLongIsCut() {
        name = "\u00e4".repeat(300);
        reporter.add(stale(33));
        time.pass(GATHER);
        assertThat(reports).hasSize(1);
    }
}
