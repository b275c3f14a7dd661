package dev.palisade.mariadb;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.palisade.redis.FreePort;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A MariaDB server as a process of its own, with a data directory of its own, by Debian's {@code mariadb-server} on the PATH. A
 * test class without it is skipped and says so. The only account may do everything, as one that could write to a replica.
 */
public final class MariaDbServer implements AutoCloseable {
    private static final String ACCOUNT = "palisade";

    private final Path directory;
    private final int port;
    private final Process process;
    private final Thread killer;

    private MariaDbServer(Path directory, int port, Process process) {
        this.directory = directory;
        this.port = port;
        this.process = process;
        this.killer = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(killer);
    }

    /** Skips the test that calls it where there is none. */
    public static MariaDbServer startOrSkip() throws IOException, InterruptedException {
        for (String command : List.of("mariadbd", "mariadb-install-db")) {
            assumeTrue(
                    Stream.of(System.getenv("PATH").split(":"))
                            .anyMatch(folder -> Files.isExecutable(Path.of(folder, command))),
                    "left out: no " + command + " on the PATH (Debian's package mariadb-server)");
        }
        Path directory = Files.createTempDirectory("palisade-mariadb");
        Path data = directory.resolve("data");
        Process install = run(
                directory,
                List.of(
                        "mariadb-install-db",
                        "--no-defaults",
                        "--datadir=" + data,
                        "--auth-root-authentication-method=normal",
                        "--skip-test-db",
                        "--debug-no-sync",
                        "--innodb-flush-method=nosync"));
        if (!install.waitFor(60, TimeUnit.SECONDS) || install.exitValue() != 0) {
            throw new IOException("mariadb-install-db failed: " + log(directory));
        }
        // One statement a line.
        Path init = Files.writeString(
                directory.resolve("init.sql"),
                "CREATE DATABASE " + ACCOUNT + ";\nCREATE USER " + ACCOUNT + "@'%' IDENTIFIED BY '" + ACCOUNT
                        + "';\nGRANT ALL ON *.* TO " + ACCOUNT + "@'%';\n");
        int port = FreePort.any();
        MariaDbServer server = new MariaDbServer(
                directory,
                port,
                run(
                        directory,
                        List.of(
                                "mariadbd",
                                "--no-defaults",
                                "--datadir=" + data,
                                "--socket=" + directory.resolve("socket"),
                                "--bind-address=127.0.0.1",
                                "--port=" + port,
                                "--skip-name-resolve",
                                "--init-file=" + init,
                                "--max-connections=200",
                                "--innodb-buffer-pool-size=16M",
                                "--innodb-log-file-size=8M",
                                // Nothing is to survive the server.
                                "--debug-no-sync",
                                "--innodb-flush-method=nosync",
                                "--innodb-flush-log-at-trx-commit=0")));
        try {
            await().atMost(Duration.ofSeconds(60)).until(server::replies);
        } catch (RuntimeException e) {
            server.close();
            throw e;
        }
        return server;
    }

    private static Process run(Path directory, List<String> command) throws IOException {
        List<String> line = new ArrayList<>(command);
        if ("root".equals(System.getProperty("user.name"))) {
            line.add("--user=root");
        }
        return new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("log").toFile()))
                .start();
    }

    private static String log(Path directory) throws IOException {
        return Files.readString(directory.resolve("log"));
    }

    private boolean replies() throws IOException {
        if (!process.isAlive()) {
            throw new IllegalStateException("mariadbd ended: " + log(directory));
        }
        try (Connection connection = DriverManager.getConnection(url("mariadb", ""))) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    /** @param options such as {@code &useAffectedRows=true} */
    public String url(String driver, String options) {
        return "jdbc:" + driver + "://127.0.0.1:" + port + "/" + ACCOUNT + "?user=" + ACCOUNT + "&password=" + ACCOUNT
                + options;
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        process.onExit().orTimeout(60, TimeUnit.SECONDS).join();
        Runtime.getRuntime().removeShutdownHook(killer);
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
