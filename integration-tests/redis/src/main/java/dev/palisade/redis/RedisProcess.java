package dev.palisade.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * One {@code redis-server} as a child process of the test, on 127.0.0.1, to be killed, stopped and started again. It has a folder and a
 * port that stay its own until {@link #close}. It writes nothing to disk unless it is told to, and it never outlives this JVM, even
 * one that is killed. Every wait is bounded. One thread uses it; {@link #ask} is open to several.
 */
public final class RedisProcess implements AutoCloseable {
    private static final String HOST = "127.0.0.1";

    private final RedisSetup setup;
    private final Path folder;
    private final int port;
    private Child process;

    private RedisProcess(RedisSetup setup, Path folder, int port, Child process) {
        this.setup = setup;
        this.folder = folder;
        this.port = port;
        this.process = process;
    }

    /** Starts an empty one with {@code lines} added to its configuration and returns when it answers. */
    public static RedisProcess start(String... lines) {
        return new RedisSetup().config(lines).start();
    }

    static RedisProcess start(RedisSetup setup) {
        Path folder = newFolder();
        RedisProcess started = null;
        try {
            // Somebody else may take the port between our look and Redis' bind.
            for (int tries = 0; started == null && tries < 10; tries++) {
                int port = FreePort.any();
                setup.writeTo(folder.resolve("redis.conf"), port, folder);
                RedisProcess next = new RedisProcess(setup, folder, port, launch(setup, folder));
                if (next.awaitAnswer()) {
                    started = next;
                } else if (!next.log().contains("Address already in use")) {
                    throw new IllegalStateException(setup.binary() + " does not start; its log:\n" + next.log());
                }
            }
            if (started == null) {
                throw new IllegalStateException("each port that was free was taken before Redis listened on it");
            }
            return started;
        } finally {
            if (started == null) {
                delete(folder);
            }
        }
    }

    public String host() {
        return HOST;
    }

    public int port() {
        return port;
    }

    /** {@code redis://127.0.0.1:PORT}, without a password. */
    public String uri() {
        return "redis://" + HOST + ":" + port;
    }

    /** Its own folder: its configuration {@code redis.conf}, what it persists, {@code redis.log}. Gone after {@link #close}. */
    public Path folder() {
        return folder;
    }

    /** The process that runs now or ran last. */
    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Everything it has logged so far, over all its starts. */
    public String log() {
        try {
            return Files.readString(folder.resolve("redis.log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Sends one command over a connection of its own and returns the reply as text: {@code nil} for nothing, the elements of an array on
     * lines of their own.
     *
     * @throws IllegalStateException if the reply is an error, or none comes within 5 s
     */
    public String ask(String... words) {
        try {
            return reply(words);
        } catch (IOException e) {
            throw new IllegalStateException(this + " does not answer: " + e.getMessage(), e);
        }
    }

    private String reply(String... words) throws IOException {
        String reply = Resp.ask(HOST, port, Duration.ofSeconds(5), words);
        if (reply.startsWith("-")) {
            throw new IllegalStateException(this + " answered " + reply.substring(1));
        }
        return reply;
    }

    /** The value of one line of {@code INFO}, such as {@code master_replid}; empty if there is none of that name. */
    public String info(String name) {
        String all;
        try {
            all = reply("INFO", "everything");
        } catch (IOException e) {
            // A Redis whose role changes cuts all connections, this one too.
            all = ask("INFO", "everything");
        }
        return all.lines()
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1))
                .findFirst()
                .orElse("");
    }

    /** SIGKILL, and returns when the process is gone. */
    public void kill9() {
        process.kill();
    }

    /** SIGTERM, by which Redis saves if it is told to save, and returns when the process is gone. A frozen one is continued first. */
    public void stop() {
        process.terminate();
    }

    /** Starts it again with the same port, folder and configuration, and returns when it answers; one that runs is stopped first. */
    public void restart() {
        stop();
        process = launch(setup, folder);
        if (!awaitAnswer()) {
            throw new IllegalStateException(this + " does not start again; its log:\n" + log());
        }
    }

    /** SIGSTOP, and returns when the system says that it stands still: its connections stay open and nothing is answered. */
    public void freeze() {
        process.freeze();
    }

    /** SIGCONT, after {@link #freeze}. */
    public void thaw() {
        process.thaw();
    }

    /** Kills it and deletes its folder. */
    @Override
    public void close() {
        kill9();
        delete(folder);
    }

    @Override
    public String toString() {
        return "Redis at " + HOST + ":" + port;
    }

    private static Child launch(RedisSetup setup, Path folder) {
        List<String> command = new ArrayList<>(List.of(
                setup.binary().file().toString(), folder.resolve("redis.conf").toString()));
        command.addAll(setup.arguments());
        return Child.start(command, setup.environment(), folder, folder.resolve("redis.log"));
    }

    /** Returns whether it answers; false when it has ended. */
    private boolean awaitAnswer() {
        process.await("answer", () -> !process.isAlive() || answers());
        return process.isAlive();
    }

    /** Whether it has loaded what it persisted and it is this process that answers. */
    private boolean answers() {
        if (setup.encrypted()) {
            return log().lines().anyMatch(line -> line.startsWith(pid() + ":") && line.contains("Ready to accept"));
        }
        try {
            String pong = Resp.ask(HOST, port, Duration.ofSeconds(1), "PING");
            return pong.equals("PONG")
                    ? Resp.ask(HOST, port, Duration.ofSeconds(1), "INFO", "server")
                            .contains("process_id:" + pid() + "\r")
                    : !pong.startsWith("-LOADING");
        } catch (IOException e) {
            return false;
        }
    }

    private static Path newFolder() {
        try {
            return Files.createTempDirectory("palisade-redis-").toRealPath();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
