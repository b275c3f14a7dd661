package dev.palisade.contract.cli;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.AppenderAttachable;
import java.util.Iterator;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/** The option for the format of a server's log on standard error. */
public final class LogFormat {
    enum Format {
        TEXT,
        JSON
    }

    @Option(
            names = "--log-format",
            paramLabel = "text|json",
            defaultValue = "text",
            description = "Lines of the log: text, or json for one object each. Default: ${DEFAULT-VALUE}")
    Format format = Format.TEXT;

    /** Sets the format of every log line from now on. Appenders that write to a file keep the format of their configuration. */
    public void apply() {
        if (format == Format.JSON && LoggerFactory.getILoggerFactory() instanceof LoggerContext log) {
            apply(log);
        }
    }

    static void apply(LoggerContext log) {
        for (Logger logger : log.getLoggerList()) {
            apply(log, logger);
        }
    }

    private static void apply(LoggerContext log, AppenderAttachable<ILoggingEvent> appenders) {
        for (Iterator<Appender<ILoggingEvent>> each = appenders.iteratorForAppenders(); each.hasNext(); ) {
            Appender<ILoggingEvent> appender = each.next();
            if (appender instanceof ConsoleAppender<ILoggingEvent> console) {
                JsonLines encoder = new JsonLines();
                encoder.setContext(log);
                encoder.start();
                console.setEncoder(encoder);
            } else if (appender instanceof AppenderAttachable<?>) {
                @SuppressWarnings("unchecked") // An appender of events passes events on.
                AppenderAttachable<ILoggingEvent> outer = (AppenderAttachable<ILoggingEvent>) appender;
                apply(log, outer);
            }
        }
    }
}
