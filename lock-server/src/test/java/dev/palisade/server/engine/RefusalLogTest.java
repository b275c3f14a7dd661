package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.explain.RefusalReport;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class RefusalLogTest {
    private final RefusalLog log = new RefusalLog();

    private static RefusalReport report(String lock, long token, long at) {
        return report("", lock, token, at);
    }

    private static RefusalReport report(String reporter, String lock, long token, long at) {
        return new RefusalReport(
                "shop", reporter, new LockName(lock), "r", "TOKEN_STALE", token, 900, OptionalLong.empty(), at, at, 1);
    }

    @Test
    void equalReportsAreOneAndCountTogether() {
        log.add(report("a", 1, 10));
        log.add(report("a", 2, 11));
        log.add(report("a", 1, 15));
        assertThat(log.of(new LockName("a"))).hasSize(2);
        RefusalReport newest = log.of(new LockName("a")).get(1);
        assertThat(newest.count()).isEqualTo(2);
        assertThat(newest.firstAtMillis()).isEqualTo(10);
        assertThat(newest.lastAtMillis()).isEqualTo(15);
        assertThat(log.of(new LockName("b"))).isEmpty();
    }

    @Test
    void ofOneLockTheNewestAreKept() {
        for (int i = 1; i <= 100; i++) {
            log.add(report("a", i, i));
        }
        assertThat(log.of(new LockName("a")).stream().map(RefusalReport::presentedToken))
                .hasSize(RefusalLog.OF_LOCK_MAX)
                .startsWith(85L)
                .endsWith(100L);
    }

    @Test
    void oneReporterCannotClearTheReportsOfOthers() {
        log.add(report("web", "a", 1, 0));
        for (int i = 1; i <= RefusalLog.OF_LOCK_MAX + 1; i++) {
            log.add(report("flood", "a", i, i));
        }
        for (int i = 0; i < 2 * RefusalLog.OF_ALL_MAX; i++) {
            log.add(report("flood", "lock-" + i, 1, 100 + i));
        }
        assertThat(log.of(new LockName("a")).stream().map(RefusalReport::principal))
                .containsExactly("web");
        assertThat(log.newest(Integer.MAX_VALUE)).hasSize(RefusalLog.OF_ALL_MAX);
    }

    @Test
    void ofAllLocksTheMostRecentlyReportedAreKept() {
        int locks = RefusalLog.OF_ALL_MAX;
        log.add(report("kept", 1, 0));
        for (int i = 1; i < locks; i++) {
            log.add(report("lock-" + i, 1, i));
        }
        log.add(report("kept", 2, locks));
        assertThat(log.of(new LockName("kept"))).hasSize(2);
        assertThat(log.of(new LockName("lock-1"))).as("reported longest ago").isEmpty();
        assertThat(log.of(new LockName("lock-2"))).hasSize(1);
        assertThat(log.newest(2).stream().map(RefusalReport::presentedToken)).containsExactly(2L, 1L);
        assertThat(log.newest(Integer.MAX_VALUE)).hasSize(RefusalLog.OF_ALL_MAX);
    }
}
