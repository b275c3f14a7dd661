package dev.palisade.incidents;

import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Data directories of PostgreSQL: made, copied while it runs as {@code pg_basebackup} does, deleted. */
final class DataDirectory {
    /** Their files are of the process, and a copy begins without them. */
    private static final Set<String> EMPTY_IN_COPY = Set.of(
            "pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans");

    private static final Set<String> NOT_IN_COPY =
            Set.of("postmaster.pid", "postmaster.opts", "standby.signal", "backup_label.old", "postgresql.auto.conf");
    private static final String WAL = "pg_wal";
    private static final int VERSION_OF_NEW_NAMES = 15;

    private DataDirectory() {}

    static void create(PostgresPrograms programs, Path data) {
        List<String> command = programs.command(
                "initdb",
                List.of(
                        "-D",
                        data.toString(),
                        "-U",
                        PostgresNode.USER,
                        "-A",
                        "trust",
                        "-E",
                        "UTF8",
                        "--locale=C",
                        "--wal-segsize=1",
                        "--no-sync"));
        try {
            Process process = new ProcessBuilder(new ArrayList<>(command))
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new ScenarioFailed("initdb failed: " + said);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    /** A base backup of a running primary, with all that it takes to start it. */
    static void copy(PostgresNode primary, Path to) {
        boolean renamed = primary.programs().version() >= VERSION_OF_NEW_NAMES;
        try (Connection connection = primary.connect(60);
                Statement statement = connection.createStatement()) {
            delete(to);
            statement.execute(
                    renamed ? "SELECT pg_backup_start('copy', true)" : "SELECT pg_start_backup('copy', true, false)");
            copyFiles(primary.data(), to, false);
            String label;
            try (ResultSet row = statement.executeQuery(
                    renamed
                            ? "SELECT labelfile FROM pg_backup_stop(false)"
                            : "SELECT labelfile FROM pg_stop_backup(false, false)")) {
                row.next();
                label = row.getString(1);
            }
            copyFiles(primary.data().resolve(WAL), to.resolve(WAL), true);
            Files.writeString(to.resolve("backup_label"), label);
            Files.writeString(to.resolve("postgresql.auto.conf"), "");
        } catch (SQLException e) {
            throw new ScenarioFailed("no backup of " + primary + ": " + e.getMessage());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void copyFiles(Path from, Path to, boolean wal) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                    throws IOException {
                Path copy = to.resolve(from.relativize(directory).toString());
                Files.createDirectories(copy);
                if (directory.equals(from) && !wal) {
                    Files.setPosixFilePermissions(copy, Files.getPosixFilePermissions(from));
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Path name = from.relativize(file);
                String first = name.getName(0).toString();
                boolean skipped =
                        !wal && (NOT_IN_COPY.contains(first) || EMPTY_IN_COPY.contains(first) || first.equals(WAL));
                if (!skipped) {
                    try {
                        Files.copy(file, to.resolve(name.toString()), StandardCopyOption.REPLACE_EXISTING);
                    } catch (NoSuchFileException e) {
                        // It was deleted meanwhile, and recovery knows that.
                    }
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException e) {
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** The data directory becomes that copy, which is gone then. */
    static void replace(Path data, Path by) {
        delete(data);
        try {
            Files.move(by, data);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** From its next start on it is a standby of that primary. */
    static void follow(Path data, String primary) {
        int colon = primary.lastIndexOf(':');
        try {
            Files.writeString(data.resolve("standby.signal"), "");
            Files.writeString(
                    data.resolve("postgresql.auto.conf"),
                    "primary_conninfo = 'host=" + primary.substring(0, colon) + " port=" + primary.substring(colon + 1)
                            + " user=" + PostgresNode.USER + "'\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void delete(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
