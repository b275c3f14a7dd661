package dev.palisade.incidents;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import dev.palisade.scenario.WallClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One Redis of the topology: its process, its wall clock and its disk. The run's own thread acts on it; everybody may ask which era it
 * is in.
 */
final class Node implements AutoCloseable {
    private final String name;
    private final @Nullable WallClock clock;
    private final @Nullable Disk disk;
    private final RedisProcess process;
    private final AtomicInteger era = new AtomicInteger();

    /** Has a clock and a disk that can be harmed where {@link Incident#preloadMissing()} is empty. */
    Node(String name) {
        this.name = name;
        boolean preloaded = Incident.preloadMissing().isEmpty();
        clock = preloaded ? WallClock.open().orElse(null) : null;
        disk = preloaded ? Disk.open() : null;
        RedisSetup setup =
                new RedisSetup().config("appendfsync everysec", "rdb-del-sync-files yes", "enable-debug-command local");
        environment().forEach(setup::environment);
        process = setup.start();
    }

    private Map<String, String> environment() {
        Map<String, String> all = new HashMap<>();
        for (Map<String, String> one : List.of(
                clock == null ? Map.<String, String>of() : clock.environment(),
                disk == null ? Map.<String, String>of() : disk.environment())) {
            one.forEach((key, value) -> all.merge(key, value, (first, second) -> first + ":" + second));
        }
        return all;
    }

    String name() {
        return name;
    }

    String address() {
        return process.host() + ":" + process.port();
    }

    RedisProcess process() {
        return process;
    }

    /** One process as a primary for one time, as far as can be known from outside: a restart or a promotion begins another. */
    String era() {
        return name + "/" + era.get();
    }

    void nextEra() {
        era.incrementAndGet();
    }

    Optional<WallClock> clock() {
        return Optional.ofNullable(clock);
    }

    Optional<Disk> disk() {
        return Optional.ofNullable(disk);
    }

    /** What it persists from now on, over restarts too. */
    void persist(String... settings) {
        for (int i = 0; i < settings.length; i += 2) {
            process.ask("CONFIG", "SET", settings[i], settings[i + 1]);
        }
        process.ask("CONFIG", "REWRITE");
    }

    /** Writes a snapshot of now; when another is being written for a replica, after that one. */
    void save() {
        Waiting.until(name + " has saved", Duration.ofSeconds(10), () -> {
            try {
                return process.ask("SAVE").equals("OK");
            } catch (IllegalStateException e) {
                return false;
            }
        });
    }

    Path snapshot() {
        return process.folder().resolve("dump.rdb");
    }

    /** Starts again with whatever its disk has. */
    void restart() {
        nextEra();
        process.restart();
    }

    void forgetSnapshot() {
        try {
            Files.deleteIfExists(snapshot());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        process.close();
        if (clock != null) {
            clock.close();
        }
        if (disk != null) {
            disk.close();
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
