package dev.palisade.contract.cli;

import java.util.LinkedHashMap;
import java.util.Map;

/** A reader of the lines of {@link dev.palisade.contract.EventLog}: the inverse of its quoting. */
final class EventFields {
    private static final int HEX_DIGITS = 4;

    private final String line;
    private final Map<String, String> fields = new LinkedHashMap<>();
    private int at;

    private EventFields(String line) {
        this.line = line;
    }

    /** The pairs of {@code line} in their order, {@code event} first; empty when it is not a line of an event log. */
    static Map<String, String> of(String line) {
        if (!line.startsWith("event=")) {
            return Map.of();
        }
        EventFields reader = new EventFields(line);
        try {
            while (reader.at < line.length()) {
                reader.pair();
            }
            return reader.fields;
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            return Map.of(); // Such a line is shown as it is.
        }
    }

    private void pair() {
        String key = line.substring(at, line.indexOf('=', at));
        if (!key.matches("[A-Za-z0-9_.-]+")) {
            throw new IllegalArgumentException(key);
        }
        at += key.length() + 1;
        String value = at < line.length() && line.charAt(at) == '"' ? quoted() : plain();
        if (at < line.length() && line.charAt(at) != ' ') {
            throw new IllegalArgumentException(line);
        }
        at++;
        fields.putIfAbsent(key, value);
    }

    private String plain() {
        int end = line.indexOf(' ', at);
        String value = line.substring(at, end < 0 ? line.length() : end);
        at += value.length();
        return value;
    }

    private String quoted() {
        StringBuilder value = new StringBuilder();
        at++;
        while (line.charAt(at) != '"') {
            char c = line.charAt(at);
            if (c == '\\') {
                at++;
                c = line.charAt(at);
                if (c == 'u') {
                    c = (char) Integer.parseInt(line.substring(at + 1, at + 1 + HEX_DIGITS), 16);
                    at += HEX_DIGITS;
                }
            }
            value.append(c);
            at++;
        }
        at++;
        return value.toString();
    }
}
