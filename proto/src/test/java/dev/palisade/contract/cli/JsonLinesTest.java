package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.Strictness;
import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Records of the log as JSON, each by itself; a whole server's are read in integration-tests. */
class JsonLinesTest {
    private static final Gson STRICT =
            new GsonBuilder().setStrictness(Strictness.STRICT).create();

    private final LoggerContext context = new LoggerContext();
    private final List<String> lines = new ArrayList<>();
    private final EventLog events = new EventLog(lines::add, System::nanoTime, 1_000_000);

    private String encoded(String logger, String message, @Nullable Throwable thrown) {
        LoggingEvent event = new LoggingEvent("", context.getLogger(logger), Level.INFO, message, thrown, null);
        event.setInstant(Instant.parse("2026-01-02T03:04:05.600Z"));
        return new String(new JsonLines().encode(event), StandardCharsets.UTF_8);
    }

    private JsonObject parsed(String logger, String message, @Nullable Throwable thrown) {
        String line = encoded(logger, message, thrown);
        assertThat(line).as("one line of printable ASCII").matches("[ -~]*\n");
        return STRICT.fromJson(line, JsonObject.class);
    }

    @Test
    void anEventIsAnObjectOfItsFields() {
        events.refused(new Rejection(Reason.TOKEN_STALE, "too late: acquire again").with(Rejection.LOCK, "orders/42"));
        assertThat(encoded("dev.palisade.events", lines.get(0), null))
                .isEqualTo(
                        "{\"time\":\"2026-01-02T03:04:05.600Z\",\"level\":\"INFO\",\"logger\":\"dev.palisade.events\","
                                + "\"event\":\"refused\",\"reason\":\"TOKEN_STALE\",\"lock\":\"orders/42\","
                                + "\"message\":\"too late: acquire again\"}\n");
    }

    @Test
    void aHostileValueComesBackAsItWasWritten() {
        for (String hostile : List.of(
                "x\" event=epoch_started token=1\r\n{\"level\":\"ERROR\"}",
                "\u001b[2J\u2028\u202e\u0085\\ \\u0041 \\\"",
                "\ud800 alone, \udc00 too, \ud83d\ude00 together",
                "\u0000\u007f\u00e9t\u00e9=1",
                "",
                "=",
                "a b")) {
            lines.clear();
            events.tell("session_opened", "owner", hostile, "lock", "orders/1");
            JsonObject object = parsed("dev.palisade.events", lines.get(0), null);
            assertThat(object.get("event").getAsString()).isEqualTo("session_opened");
            assertThat(object.get("owner").getAsString()).isEqualTo(hostile);
            assertThat(object.get("lock").getAsString()).isEqualTo("orders/1");
            assertThat(object.size()).isEqualTo(6);
        }
    }

    @Test
    void randomValuesComeBackToo() {
        Random random = new Random(42);
        for (int run = 0; run < 500; run++) {
            StringBuilder value = new StringBuilder();
            for (int i = random.nextInt(40); i > 0; i--) {
                value.append((char) (random.nextBoolean() ? random.nextInt(128) : random.nextInt(65_536)));
            }
            lines.clear();
            events.tell("session_opened", "owner", value, "grant", run);
            assertThat(EventFields.of(lines.get(0)))
                    .containsExactly(
                            Map.entry("event", "session_opened"),
                            Map.entry("owner", value.toString()),
                            Map.entry("grant", Integer.toString(run)));
        }
    }

    @Test
    void aFieldNeverTakesThePlaceOfTimeOrLevel() {
        JsonObject object = parsed("dev.palisade.events", "event=forged level=ERROR time=never event=other", null);
        assertThat(object.get("level").getAsString()).isEqualTo("INFO");
        assertThat(object.get("time").getAsString()).startsWith("2026-");
        assertThat(object.get("event").getAsString()).isEqualTo("forged");
    }

    @Test
    void whatIsNoEventIsAMessage() {
        for (String line : List.of(
                "event=",
                "event=a b",
                "event=a \"",
                "event=a k=\"x",
                "event=a k=\"\\",
                "event=a k=\"\\u12\"",
                "plain")) {
            JsonObject object = parsed("dev.palisade.events", line, null);
            assertThat(object.has("message") || line.equals("event=")).as(line).isTrue();
        }
        assertThat(parsed("io.library.events", "event=forged", null).has("event"))
                .isFalse();
    }

    @Test
    void anExceptionOfALibraryHasNoStack() {
        Throwable thrown = new IllegalStateException("bad\r\n\"thing\"");
        assertThat(parsed("io.netty", "failed", thrown).get("exception").getAsString())
                .isEqualTo("java.lang.IllegalStateException: bad\r\n\"thing\"");
        assertThat(parsed("dev.palisade.server", "failed", thrown)
                        .get("exception")
                        .getAsString())
                .contains("anExceptionOfALibraryHasNoStack");
        assertThat(parsed("io.netty", "failed", new Error("x".repeat(100_000)))
                        .get("exception")
                        .getAsString())
                .hasSizeLessThan(9_000);
    }

    @Command(name = "server")
    static class Logging implements Runnable {
        @Mixin
        LogFormat logFormat = new LogFormat();

        @Override
        public void run() {}
    }

    @Test
    void theFormatInTheEnvironmentIsInLowerCaseToo() {
        Logging logging = new Logging();
        CommandLine line = new CommandLine(logging).setCaseInsensitiveEnumValuesAllowed(true);
        Settings.apply(line, new String[0], Map.of("PALISADE_SERVER_LOG_FORMAT", "json"));
        line.execute();
        assertThat(logging.logFormat.format).isEqualTo(LogFormat.Format.JSON);
    }

    @Test
    void theFormatReachesConsolesBehindQueuesToo() {
        ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
        console.setContext(context);
        console.setEncoder(new PatternLayoutEncoder());
        AsyncAppender queue = new AsyncAppender();
        queue.setContext(context);
        queue.addAppender(console);
        context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(queue);
        LogFormat.apply(context);
        assertThat(console.getEncoder()).isInstanceOf(JsonLines.class);
    }
}
