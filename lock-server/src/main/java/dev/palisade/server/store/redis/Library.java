package dev.palisade.server.store.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The text of the function library, from the files in {@code resources/redis}. */
final class Library {
    /** In the order in which they build on each other. */
    static final List<String> FILES = List.of(
            "library",
            "clock",
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

    private static final Pattern VERSION = Pattern.compile("^local VERSION = (\\d+)$", Pattern.MULTILINE);

    private Library() {}

    static FunctionLibrary load() {
        StringBuilder code = new StringBuilder();
        FILES.forEach(file -> code.append(file(file)));
        return of(code.toString());
    }

    static FunctionLibrary of(String code) {
        Matcher version = VERSION.matcher(code);
        if (!version.find()) {
            throw new IllegalStateException("library.lua does not name its version");
        }
        return new FunctionLibrary("palisade", Long.parseLong(version.group(1)), code);
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
