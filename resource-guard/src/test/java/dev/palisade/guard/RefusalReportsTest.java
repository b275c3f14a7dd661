package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.grants.Grants;
import dev.palisade.guard.LockService.RefusedCalls;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Reports of a {@link FencedJdbc} on a database in memory. */
class RefusalReportsTest {
    private static final Binding ORDER = Binding.of("orders/42");

    private final ManualTime time = new ManualTime();
    private final Grants grants = new Grants();
    private final List<String> names = new ArrayList<>();
    private final List<RefusedCalls> reported = new ArrayList<>();
    private final RefusalReports reports = RefusalReports.to(service(), "orders-db at host-1", time);
    private FencedJdbc fenced;

    private LockService service() {
        return (LockService) Proxy.newProxyInstance(
                LockService.class.getClassLoader(), new Class<?>[] {LockService.class}, (proxy, method, arguments) -> {
                    names.add((String) arguments[0]);
                    for (Object each : (List<?>) arguments[1]) {
                        reported.add((RefusedCalls) each);
                    }
                    return CompletableFuture.completedFuture(true);
                });
    }

    @BeforeEach
    void create() throws Exception {
        JdbcDataSource dataSource = new JdbcDataSource();
        dataSource.setURL("jdbc:h2:mem:reports;DB_CLOSE_DELAY=-1");
        fenced = FencedJdbc.create(dataSource, grants.verifier(), line -> {});
        fenced.createTable();
    }

    private void refused(FencedJdbc by, long token) {
        assertThatThrownBy(() -> by.claim(grants.exclusive("orders/42", token), ORDER))
                .isInstanceOf(RejectedException.class);
    }

    @Test
    void refusalsOfAFenceAreReportedWithTheirMark() throws Exception {
        FencedJdbc reporting = fenced.withReports(reports);
        reporting.claim(grants.exclusive("orders/42", 34), ORDER);
        refused(reporting, 32);
        refused(reporting, 32);
        refused(reporting.withoutEvents().withLockWait(Duration.ofSeconds(1)), 33);
        refused(fenced, 31);
        assertThat(reported).as("a call never waits for a report").isEmpty();
        time.pass(Duration.ofMillis(200));
        assertThat(names).containsExactly("orders-db at host-1");
        assertThat(reported).extracting(RefusedCalls::presentedToken).containsExactly(32L, 33L);
        RefusedCalls twice = reported.get(0);
        assertThat(twice.count()).isEqualTo(2);
        assertThat(twice.reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(twice.lock().value()).isEqualTo("orders/42");
        assertThat(twice.resource()).isEqualTo("orders/42");
        assertThat(twice.markToken()).isEqualTo(OptionalLong.of(34));
        assertThat(reporting.stats().refused())
                .as("one count with the fence it was made of")
                .containsEntry(Reason.TOKEN_STALE, 3L);
    }

    @Test
    void afterTheEndNothingIsReported() {
        FencedJdbc reporting = fenced.withReports(reports);
        reports.close();
        assertThatThrownBy(() -> reporting.claim(new Grants().exclusive("orders/42", 33), ORDER))
                .isInstanceOf(RejectedException.class);
        time.pass(Duration.ofMinutes(1));
        assertThat(reported).isEmpty();
    }
}
