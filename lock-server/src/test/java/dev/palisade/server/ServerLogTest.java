package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ServerLogTest {
    private final LoggerContext log = new LoggerContext();

    @BeforeEach
    void setUp() {
        ServerLog.setUp(log);
    }

    @AfterEach
    void stop() {
        log.stop();
    }

    @Test
    void tellsOfItselfAndOfTheTroublesOfLibraries() {
        assertThat(log.getLogger("dev.palisade.events").getEffectiveLevel()).isEqualTo(Level.INFO);
        assertThat(log.getLogger("io.grpc.netty").getEffectiveLevel()).isEqualTo(Level.WARN);
        assertThat(log.getLogger("io.lettuce.core").getEffectiveLevel()).isEqualTo(Level.ERROR);
    }

    @Test
    void whoLogsNeverWaitsForAReader() {
        AsyncAppender unwaited = unwaited();
        assertThat(unwaited.isNeverBlock()).isTrue();
        assertThat(unwaited.getDiscardingThreshold()).isZero();
        assertThat(unwaited.getQueueSize()).isGreaterThanOrEqualTo(2_000);
        assertThat(unwaited.isStarted()).isTrue();
    }

    @Test
    void aLineHasATimeWithAZoneALevelALoggerAndTheMessage() {
        var standardError = (ConsoleAppender<ILoggingEvent>) unwaited().getAppender("stderr");
        assertThat(standardError.getTarget()).isEqualTo("System.err");
        Logger logger = log.getLogger("dev.palisade.events");
        LoggingEvent event = new LoggingEvent("", logger, Level.INFO, "event={}", null, new Object[] {"granted"});
        event.setInstant(Instant.parse("2026-01-02T03:04:05.678Z"));
        assertThat(new String(standardError.getEncoder().encode(event), StandardCharsets.UTF_8))
                .matches("2026-01-0\\dT\\d\\d:\\d\\d:05\\.678(Z|[+-]\\d\\d:\\d\\d) INFO  events: event=granted\\R");
    }

    private AsyncAppender unwaited() {
        return (AsyncAppender) log.getLogger(Logger.ROOT_LOGGER_NAME).getAppender("unwaited");
    }
}
