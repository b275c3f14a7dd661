package dev.palisade.contract.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An encoder of log records as JSON objects, one a line: {@code time}, {@code level}, {@code logger}, and the fields of an event, or the
 * {@code message} of another record. All values are strings. Its output is ASCII: line breaks, terminal codes, lone surrogates and
 * characters that turn the writing around are escaped wherever they come from. Safe for use by many threads.
 */
final class JsonLines extends EncoderBase<ILoggingEvent> {
    private static final DateTimeFormatter MILLIS =
            new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

    /** As a stack trace may quote what a stranger wrote. */
    private static final int EXCEPTION_CHARS_MAX = 8_000;

    @Override
    public byte[] headerBytes() {
        return new byte[0];
    }

    @Override
    public byte[] footerBytes() {
        return new byte[0];
    }

    @Override
    public byte[] encode(ILoggingEvent event) {
        return (ascii(json(fields(event))) + "\n").getBytes(StandardCharsets.US_ASCII);
    }

    private static Map<String, String> fields(ILoggingEvent event) {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("time", MILLIS.format(Instant.ofEpochMilli(event.getTimeStamp())));
        fields.put("level", event.getLevel().toString());
        fields.put("logger", event.getLoggerName());
        String message = String.valueOf(event.getFormattedMessage());
        boolean ours = event.getLoggerName().startsWith("dev.palisade.");
        Map<String, String> pairs =
                ours && event.getLoggerName().endsWith(".events") ? EventFields.of(message) : Map.of();
        pairs.forEach(fields::putIfAbsent);
        if (pairs.isEmpty()) {
            fields.put("message", message);
        }
        IThrowableProxy thrown = event.getThrowableProxy();
        if (thrown != null) {
            // Any client can make a library throw: of those a line, without the stack.
            String shown =
                    ours ? ThrowableProxyUtil.asString(thrown) : thrown.getClassName() + ": " + thrown.getMessage();
            fields.put("exception", shown.substring(0, Math.min(shown.length(), EXCEPTION_CHARS_MAX)));
        }
        return fields;
    }

    private static String json(Map<String, String> fields) {
        StringWriter text = new StringWriter();
        try (JsonWriter json = new JsonWriter(text)) {
            json.beginObject();
            for (Map.Entry<String, String> field : fields.entrySet()) {
                json.name(field.getKey()).value(field.getValue());
            }
            json.endObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // A string takes everything.
        }
        return text.toString();
    }

    /** Such characters are within strings only. */
    private static String ascii(String json) {
        StringBuilder ascii = new StringBuilder(json.length());
        for (int i = 0; i < json.length(); i++) {
            char c = json.charAt(i);
            if (c < 127) {
                ascii.append(c);
            } else {
                ascii.append(String.format("\\u%04x", (int) c));
            }
        }
        return ascii.toString();
    }
}
