package dev.palisade.incidents;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import dev.palisade.scenario.WallClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One Redis of the topology: its process, its wall clock and its disk. */
final class RedisNode extends Node {
    private final @Nullable WallClock clock;
    private final @Nullable Disk disk;
    private final RedisProcess process;

    /** Clock and disk can get faults if {@link RedisIncident#preloadMissing()} is empty. */
    RedisNode(String name) {
        super(name);
        boolean preloaded = RedisIncident.preloadMissing().isEmpty();
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

    @Override
    String address() {
        return process.host() + ":" + process.port();
    }

    RedisProcess process() {
        return process;
    }

    @Override
    boolean isAlive() {
        return process.isAlive();
    }

    @Override
    void kill9() {
        process.kill9();
    }

    /**
     * Becomes a replica of {@code address} and a primary again, in one write, so that no other command comes in
     * between.
     */
    void followAndReturn(String address) {
        int colon = address.lastIndexOf(':');
        try (Socket socket = new Socket(process.host(), process.port())) {
            socket.getOutputStream()
                    .write(("REPLICAOF " + address.substring(0, colon) + " " + address.substring(colon + 1)
                                    + "\r\nREPLICAOF NO ONE\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            BufferedReader replies =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            String both = replies.readLine() + replies.readLine();
            if (!both.equals("+OK+OK")) {
                throw new IllegalStateException(this + " was not taken back, but answered " + both);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Optional<WallClock> clock() {
        return Optional.ofNullable(clock);
    }

    Optional<Disk> disk() {
        return Optional.ofNullable(disk);
    }

    /** Changes the persistence settings, also for later restarts. */
    void persist(String... settings) {
        for (int i = 0; i < settings.length; i += 2) {
            process.ask("CONFIG", "SET", settings[i], settings[i + 1]);
        }
        process.ask("CONFIG", "REWRITE");
    }

    /** Writes a snapshot, after any running snapshot for a replica. */
    void save() {
        Polling.until(name() + " has saved", Duration.ofSeconds(10), () -> {
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

    /** Restarts on the data on its disk. */
    void restart() {
        nextIncarnation();
        process.restart();
    }

    void deleteSnapshot() {
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
}
