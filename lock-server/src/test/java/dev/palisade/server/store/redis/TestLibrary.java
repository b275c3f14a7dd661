package dev.palisade.server.store.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * The function library as it ships, but for three things: the time is what the test says, an error can be had at any call, and it has
 * a name of its own, so that several can be in one Redis.
 */
final class TestLibrary {
    private TestLibrary() {}

    static String code(String name) {
        return named(name, shipped());
    }

    /** The shipped files with the clock of tests. */
    static String shipped() {
        return Library.FILES.stream()
                        .map(file ->
                                file.equals("clock") ? resource("virtual-clock") : throughTheClock(Library.file(file)))
                        .collect(Collectors.joining())
                + resource("testing");
    }

    /** The library of a log with the clock of tests, under its own name: for a Redis of the test's own. */
    static String log() {
        return Library.LOG_FILES.stream()
                        .map(file -> file.equals("clock")
                                ? resource("log-virtual-clock")
                                : throughTheClock(Library.file(file)))
                        .collect(Collectors.joining())
                + resource("log-testing");
    }

    static String named(String name, String code) {
        return code.replace("name=palisade", "name=" + name).replace("palisade_", name + "_");
    }

    private static String throughTheClock(String code) {
        return code.replace("redis.call(", "redis_call(").replace("redis.pcall(", "redis_pcall(");
    }

    private static String resource(String name) {
        try (InputStream in = TestLibrary.class.getResourceAsStream("/redis/" + name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException(name + ".lua is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
