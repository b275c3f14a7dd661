package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

class LibraryLogTest {
    private final List<String> lines = new ArrayList<>();
    private final AtomicLong nanos = new AtomicLong();
    private final LibraryLog log =
            new LibraryLog((logger, level, message, failure) -> lines.add(logger + " " + message), nanos::get);

    private void publish(String logger) {
        LogRecord record = new LogRecord(Level.SEVERE, "failed");
        record.setLoggerName(logger);
        log.publish(record);
    }

    @Test
    void floodOfALibraryIsCountedAndOurOwnLinesPass() {
        for (int i = 0; i < 1_000; i++) {
            publish("io.grpc.internal.ServerImpl");
        }
        assertThat(lines).hasSize(LibraryLog.RECORDS_PER_SECOND);
        publish("dev.palisade.guard.Guard");
        assertThat(lines).last().isEqualTo("dev.palisade.guard.Guard failed");
        nanos.addAndGet(1_000_000_000);
        publish("io.grpc.internal.ServerImpl");
        assertThat(lines).last().asString().endsWith("failed (before it 990 records not shown)");
    }
}
