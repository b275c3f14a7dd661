package dev.palisade.contract.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * A file of settings in Java's properties format, read with the line of each key, so that a message can say where to look. The
 * last of several lines with one key counts.
 */
record SettingsFile(String path, Map<String, Entry> entries) {
    /** What some editors put before the first line of a file in UTF-8. */
    private static final String BYTE_ORDER_MARK = "\uFEFF";
    /** Some thousand times the length of a file with every setting there is. */
    private static final int BYTES_MAX = 1 << 20;

    static final SettingsFile NONE = new SettingsFile("", Map.of());

    /** @param line counted from 1 */
    record Entry(String value, int line) {}

    /** @throws Unreadable in one line */
    static SettingsFile read(String path) throws Unreadable {
        int line = 0;
        try {
            List<String> lines = new ArrayList<>(lines(path));
            if (!lines.isEmpty() && lines.get(0).startsWith(BYTE_ORDER_MARK)) {
                lines.set(0, lines.get(0).substring(1));
            }
            Map<String, Entry> entries = new LinkedHashMap<>();
            for (int i = 0; i < lines.size(); i++) {
                line = i + 1;
                StringBuilder logical = new StringBuilder(lines.get(i));
                while (!isComment(lines.get(line - 1)) && goesOn(logical) && i + 1 < lines.size()) {
                    logical.append('\n').append(lines.get(++i));
                }
                Properties one = new Properties();
                one.load(new StringReader(logical.toString()));
                for (String key : one.stringPropertyNames()) {
                    entries.put(key, new Entry(one.getProperty(key), line));
                }
            }
            return new SettingsFile(path, entries);
        } catch (IOException e) {
            throw new Unreadable("cannot read config file " + path + " ("
                    + e.getClass().getSimpleName() + "); name a readable properties file in UTF-8");
        } catch (IllegalArgumentException e) {
            throw new Unreadable("cannot read config file " + path + ":" + line + " (" + e.getMessage()
                    + "); write a backslash twice");
        }
    }

    private static List<String> lines(String path) throws IOException, Unreadable {
        byte[] bytes;
        try (InputStream file = Files.newInputStream(Path.of(path))) {
            bytes = file.readNBytes(BYTES_MAX + 1);
        }
        if (bytes.length > BYTES_MAX) {
            throw new Unreadable(
                    "config file " + path + " has more than " + BYTES_MAX + " bytes; name a properties file");
        }
        String text = StandardCharsets.UTF_8
                .newDecoder()
                .decode(ByteBuffer.wrap(bytes))
                .toString();
        return text.lines().toList();
    }

    String where(Entry entry) {
        return path + ":" + entry.line();
    }

    private static boolean isComment(String line) {
        String begins = line.stripLeading();
        return begins.startsWith("#") || begins.startsWith("!");
    }

    /** An odd number of backslashes at its end joins a line with the next. */
    private static boolean goesOn(StringBuilder line) {
        int backslashes = 0;
        for (int i = line.length() - 1; i >= 0 && line.charAt(i) == '\\'; i--) {
            backslashes++;
        }
        return backslashes % 2 == 1;
    }

    static final class Unreadable extends Exception {
        private static final long serialVersionUID = 1L;

        Unreadable(String message) {
            super(message);
        }
    }
}
