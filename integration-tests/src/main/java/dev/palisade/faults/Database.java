package dev.palisade.faults;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Counter;
import dev.palisade.check.Marks;
import dev.palisade.check.Marks.Mark;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The storage's tables, read over JDBC while the storage is stopped or killed. */
final class Database {
    private Database() {}

    interface Reading<T> {
        T of(Connection connection) throws SQLException;
    }

    /** Reads a copy of the file, so that the reading itself repairs and changes nothing. */
    static <T> T readCopy(Path dataDir, Reading<T> reading) throws IOException, SQLException {
        Path copy = Files.createTempDirectory("palisade-copy-");
        Path file = copy.resolve("objects.mv.db");
        try {
            Files.copy(dataDir.resolve("objects.mv.db"), file);
            try (Connection connection =
                    DriverManager.getConnection("jdbc:h2:file:" + copy + "/objects;IFEXISTS=TRUE")) {
                return reading.of(connection);
            }
        } finally {
            Files.deleteIfExists(copy.resolve("objects.trace.db"));
            Files.deleteIfExists(file);
            Files.delete(copy);
        }
    }

    /** Changes the file itself: a fault. */
    static void tamper(Path dataDir, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(
                        "jdbc:h2:file:" + dataDir + "/objects;IFEXISTS=TRUE;WRITE_DELAY=0");
                Statement statement = connection.createStatement()) {
            if (statement.executeUpdate(sql) != 1) {
                throw new SQLException("changed nothing: " + sql);
            }
        }
    }

    static List<AppliedCall> applied(Connection connection) throws SQLException {
        List<AppliedCall> calls = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT seq, resource, object_key, operation, mode, token,"
                        + " grant_id, sha256 FROM applied ORDER BY seq")) {
            while (row.next()) {
                String operation = row.getString(4);
                calls.add(new AppliedCall(
                        row.getLong(1),
                        row.getString(2),
                        row.getString(3),
                        operation.equals("PUT") || operation.equals("DELETE"),
                        row.getString(5).equals("SHARED"),
                        row.getLong(6),
                        row.getString(7),
                        row.getString(8)));
            }
        }
        return calls;
    }

    static Marks marks(Connection connection, String when) throws SQLException {
        Map<String, Mark> marks = new HashMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT resource, x_token, x_grant, s_token FROM palisade_fence")) {
            while (row.next()) {
                marks.put(row.getString(1), new Mark(row.getLong(2), row.getString(3), row.getLong(4)));
            }
        }
        return new Marks(when, marks);
    }

    /** Objects of the form {@code COUNT OP}. */
    static List<Counter> counters(Connection connection) throws SQLException {
        List<Counter> counters = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT object_key, content FROM objects")) {
            while (row.next()) {
                String text = new String(row.getBytes(2), StandardCharsets.UTF_8);
                long value = Long.parseLong(text.substring(0, text.indexOf(' ')));
                counters.add(new Counter(row.getString(1), value, Histories.sha256(text)));
            }
        }
        return counters;
    }
}
