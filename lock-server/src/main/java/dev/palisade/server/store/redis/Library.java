package dev.palisade.server.store.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The texts of the function libraries, from the files in {@code resources/redis}. */
final class Library {
    /** In the order in which they build on each other. */
    static final List<String> FILES = List.of(
            "library",
            "clock",
            "rights",
            "tokens",
            "lock",
            "step",
            "acquire",
            "accept",
            "renew",
            "renewals",
            "release",
            "leave",
            "expire",
            "abandon",
            "resume",
            "reclaim",
            "poll",
            "describe",
            "requestrelease",
            "forcerelease",
            "checksequencer",
            "barrier",
            "domain");

    /** Of the log's own library, in the same way. */
    static final List<String> LOG_FILES =
            List.of("log/library", "clock", "rights", "log/log", "log/claim", "log/append");

    private static final Pattern VERSION = Pattern.compile("^local VERSION = (\\d+)$", Pattern.MULTILINE);

    private Library() {}

    static FunctionLibrary load() {
        return of("palisade", text(FILES));
    }

    static FunctionLibrary loadLog() {
        return of("palisade_log", text(LOG_FILES));
    }

    private static String text(List<String> files) {
        return files.stream().map(Library::file).collect(Collectors.joining());
    }

    static FunctionLibrary of(String name, String code) {
        Matcher version = VERSION.matcher(code);
        if (!version.find()) {
            throw new IllegalStateException("library " + name + " does not name its version");
        }
        return new FunctionLibrary(name, Long.parseLong(version.group(1)), code);
    }

    static String file(String name) {
        try (InputStream in = Library.class.getResourceAsStream("/redis/" + name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("redis/" + name + ".lua is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
