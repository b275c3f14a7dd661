package dev.palisade.redis;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import redis.embedded.RedisExecProvider;

/**
 * A {@code redis-server} to start processes from: the one on the PATH, or else the one that a Maven artefact carries for
 * Linux and macOS. It never downloads one. Immutable.
 *
 * @param file an executable file
 * @param bundled whether it is out of the artefact; that one is linked statically, so {@code LD_PRELOAD} does nothing to it
 */
public record RedisBinary(Path file, boolean bundled) {

    /**
     * The one to use where the tests do not care: on the PATH before bundled, unless the system property
     * {@code palisade.redis.way} asks for {@code path} or {@code bundled}.
     *
     * @throws IllegalStateException if {@code path} is asked for and there is none
     */
    public static RedisBinary find() {
        return switch (Way.wanted().orElse(Way.PATH)) {
            case BUNDLED -> bundledOne();
            case PATH, GIVEN, DOCKER ->
                onThePath().orElseGet(() -> {
                    if (Way.wanted().equals(Optional.of(Way.PATH))) {
                        throw new IllegalStateException(
                                "-D" + Way.PROPERTY
                                        + "=path: there is no redis-server on the PATH; install Redis, or leave the property out");
                    }
                    return bundledOne();
                });
        };
    }

    /** The one on the PATH, if there is one. */
    public static Optional<RedisBinary> onThePath() {
        return onThePath("redis-server").map(file -> new RedisBinary(file, false));
    }

    static Optional<Path> onThePath(String name) {
        return Arrays.stream(
                        Optional.ofNullable(System.getenv("PATH")).orElse("").split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, name))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** The one in the artefact, unpacked once for this JVM. */
    public static RedisBinary bundledOne() {
        return Unpacked.ONE;
    }

    @Override
    public String toString() {
        return bundled ? "the bundled redis-server " + RedisExecProvider.redisVersion : file.toString();
    }

    private static final class Unpacked {
        static final RedisBinary ONE = unpack();

        private static RedisBinary unpack() {
            try {
                return new RedisBinary(RedisExecProvider.defaultProvider().get().toPath(), true);
            } catch (IOException e) {
                throw new UncheckedIOException("cannot unpack the bundled redis-server into java.io.tmpdir", e);
            }
        }
    }
}
