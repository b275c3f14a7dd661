package dev.palisade.incidents;

import dev.palisade.redis.FreePort;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One PostgreSQL of the topology: its processes and its data directory. */
final class PostgresNode extends Node {
    static final String USER = "postgres";
    static final String DATABASE = "postgres";

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Duration END = Duration.ofSeconds(10);
    private static final int START_TRIES = 5;

    private final PostgresPrograms programs;
    private final Path folder;
    private final int port = FreePort.any();
    private @Nullable Child process;

    PostgresNode(String name) {
        super(name);
        programs = PostgresPrograms.find().orElseThrow(() -> new ScenarioFailed("there is no PostgreSQL"));
        try {
            folder = Files.createTempDirectory("palisade-postgresql-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    String address() {
        return "127.0.0.1:" + port;
    }

    PostgresPrograms programs() {
        return programs;
    }

    /** The data directory. */
    Path data() {
        return folder.resolve("data");
    }

    /** A place for a copy of the data directory. */
    Path backup() {
        return folder.resolve("backup");
    }

    /** Creates the data directory and starts. */
    void create() {
        DataDirectory.create(programs, data());
        start();
    }

    /** Starts with whatever is in the data directory, and returns when it replies. */
    void start() {
        for (int tries = 1; ; tries++) {
            Child next = launch();
            Polling.until(this + " replies", TIMEOUT, () -> !next.isAlive() || replies());
            if (next.isAlive()) {
                return;
            }
            if (tries == START_TRIES) {
                throw new ScenarioFailed(this + " does not start; its log: " + log());
            }
        }
    }

    private Child launch() {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" >>" + log() + " 2>&1", "sh"));
        command.addAll(programs.command(
                "postgres",
                List.of(
                        "-D",
                        data().toString(),
                        "-p",
                        Integer.toString(port),
                        "-c",
                        "listen_addresses=127.0.0.1",
                        "-c",
                        "unix_socket_directories=",
                        "-c",
                        "shared_buffers=16MB",
                        "-c",
                        "max_connections=40",
                        "-c",
                        "max_wal_senders=4",
                        "-c",
                        "wal_keep_size=32MB",
                        "-c",
                        "wal_retrieve_retry_interval=200ms",
                        "-c",
                        "hot_standby=on")));
        Child next = Child.start("PostgreSQL " + name(), command, Map.of());
        process = next;
        return next;
    }

    private Path log() {
        return folder.resolve("log");
    }

    private boolean replies() {
        try (Connection connection = connect(1)) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    /** A session of its own, past all links. */
    Connection connect(int seconds) throws SQLException {
        return DriverManager.getConnection("jdbc:postgresql://" + address() + "/" + DATABASE + "?user=" + USER
                + "&connectTimeout=" + seconds + "&socketTimeout=" + seconds + "&ApplicationName=incidents");
    }

    /**
     * Runs statements in one transaction, and returns the first value of the first one's result, empty if it is null or
     * none.
     */
    String ask(String sql) {
        try (Connection connection = connect(20);
                Statement statement = connection.createStatement()) {
            if (!statement.execute(sql)) {
                return "";
            }
            try (ResultSet rows = statement.getResultSet()) {
                String value = rows.next() ? rows.getString(1) : null;
                return value == null ? "" : value;
            }
        } catch (SQLException e) {
            throw new IllegalStateException(this + " replied to \"" + sql + "\": " + e.getMessage(), e);
        }
    }

    /** Sets a parameter over restarts too; to its default if {@code value} is empty. */
    void set(String parameter, String value) {
        ask("ALTER SYSTEM SET " + parameter + " = '" + value + "'");
        ask("SELECT pg_reload_conf()");
    }

    boolean isStandby() {
        return isAlive() && ask("SELECT pg_is_in_recovery()").equals("t");
    }

    @Override
    boolean isAlive() {
        Child now = process;
        return now != null && now.isAlive();
    }

    private List<ProcessHandle> backends() {
        Child now = process;
        return now == null
                ? List.of()
                : ProcessHandle.of(now.pid()).stream()
                        .flatMap(ProcessHandle::descendants)
                        .toList();
    }

    @Override
    void kill9() {
        List<ProcessHandle> backends = backends();
        Child now = process;
        if (now != null) {
            now.kill();
        }
        backends.forEach(ProcessHandle::destroyForcibly);
        // A backend whose parent is gone may stay as a zombie, which no start minds.
        Polling.within(Duration.ofSeconds(2), () -> backends.stream().noneMatch(ProcessHandle::isAlive));
    }

    /** Fast shutdown: sessions are ended, and everything is on disk. */
    void stop() {
        end("INT");
    }

    /** Immediate shutdown: as a crash, but shared memory is given back. */
    void stopAtOnce() {
        end("QUIT");
    }

    private void end(String signal) {
        if (isAlive()) {
            thaw();
            signal(signal, pid());
            if (!Polling.within(END, () -> !isAlive())) {
                kill9();
            }
        }
    }

    /** With what its data directory has. */
    void restart() {
        nextIncarnation();
        start();
    }

    /** SIGSTOP of all its processes: connections stay open, and nothing is answered. */
    void freeze() {
        signal("STOP", pid());
        backends().forEach(backend -> signal("STOP", backend.pid()));
    }

    /** SIGCONT. */
    void thaw() {
        backends().forEach(backend -> signal("CONT", backend.pid()));
        signal("CONT", pid());
    }

    private long pid() {
        Child now = process;
        if (now == null) {
            throw new IllegalStateException(this + " was never started");
        }
        return now.pid();
    }

    /** A process that has ended meanwhile gets none. */
    private static void signal(String signal, long pid) {
        try {
            new ProcessBuilder("sh", "-c", "kill -" + signal + " " + pid + " 2>/dev/null")
                    .start()
                    .waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run sh", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    @Override
    public void close() {
        stopAtOnce();
        DataDirectory.delete(folder);
    }
}
