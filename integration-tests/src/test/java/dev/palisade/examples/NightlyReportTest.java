package dev.palisade.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.FakePalisade;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LeaseLostException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

// snippet
class NightlyReportTest {
    private final FakePalisade fake = FakePalisade.start();
    private final PalisadeClient palisade = fake.client("reports");
    private final AcquireOptions options = AcquireOptions.waiting(Duration.ofMinutes(1));

    @AfterEach
    void close() {
        fake.close();
    }

    @Test
    void oneReportIsWrittenWhenAnotherServiceIsAtIt() throws InterruptedException {
        Lease other = fake.hold("reports/daily");
        NightlyReport report = new NightlyReport(palisade, options);
        assertFalse(report.write(() -> {})); // a minute of the fake's time, none of yours
        other.close();
        assertTrue(report.write(() -> {}));
    }

    @Test
    void noReportIsWrittenWhileTheLockServerIsAway() throws InterruptedException {
        NightlyReport report = new NightlyReport(palisade, options);
        fake.stopServer();
        assertFalse(report.write(() -> {}));
        fake.startServer();
        assertTrue(report.write(() -> {}));
    }

    @Test
    void aReportThatTakesTooLongUnderALostLeaseIsNotCountedAsWritten() throws InterruptedException {
        AtomicInteger pages = new AtomicInteger();
        NightlyReport report = new NightlyReport(palisade, options);
        assertThrows(
                LeaseLostException.class,
                () -> report.write(() -> {
                    fake.silence(palisade); // the cable
                    fake.advance(Duration.ofSeconds(30)); // longer than the lease
                    pages.incrementAndGet();
                }));
        assertEquals(1, pages.get());
        assertTrue(fake.describe("reports/daily").holders().isEmpty());
    }
}
// end
