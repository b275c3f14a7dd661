package dev.palisade.server.store.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * The function library as it ships, but for two things: the time is what the test says, and an error can be had at any call.
 */
final class TestLibrary {
    private TestLibrary() {}

    /** The shipped files with the clock of tests: for a Redis of the test's own. */
    static String log() {
        return Library.FILES.stream()
                        .map(file ->
                                file.equals("clock") ? resource("virtual-clock") : throughTheClock(Library.file(file)))
                        .collect(Collectors.joining())
                + resource("testing");
    }

    private static String throughTheClock(String code) {
        return code.replace("redis.call(", "redis_call(").replace("redis.pcall(", "redis_pcall(");
    }

    static String resource(String name) {
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
