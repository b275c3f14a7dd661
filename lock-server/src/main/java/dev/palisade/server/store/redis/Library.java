package dev.palisade.server.store.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The source text of the function library, from the files in {@code resources/redis}. */
final class Library {
    /** In the order in which they build on each other. */
    static final List<String> FILES = List.of("library", "clock", "rights", "log", "claim", "append", "move");

    private static final Pattern VERSION = Pattern.compile("^local VERSION = (\\d+)$", Pattern.MULTILINE);

    private Library() {}

    static FunctionLibrary load() {
        return of("palisade_log", FILES.stream().map(Library::file).collect(Collectors.joining()));
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
