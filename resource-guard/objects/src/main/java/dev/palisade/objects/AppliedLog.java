package dev.palisade.objects;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code applied}: one row per call that was applied, written in the same transaction as its data and its mark,
 * so that anyone can check afterwards that tokens never fell. Per resource its order is the order of application. Never
 * holds a refused call, nor an unfenced read; shortened by {@link LogRetention} only.
 */
final class AppliedLog {
    private AppliedLog() {}

    /** What was done. MISMATCH: a conditional write that found another version; it changed nothing and told the version. */
    enum Operation {
        PUT,
        DELETE,
        GET,
        LIST,
        CLAIM,
        MISMATCH;

        boolean writes() {
            return this == PUT || this == DELETE;
        }
    }

    /** One row. {@code mode} is null and {@code token} 0 for a write that came unguarded and without a sequencer. */
    record Row(
            long seq,
            String at,
            String resource,
            Operation operation,
            String key,
            @Nullable Mode mode,
            long token,
            String grantHex,
            long version,
            long sizeBytes,
            String sha256) {}

    static void append(
            Connection connection,
            String resource,
            Operation operation,
            String key,
            @Nullable Sequencer sequencer,
            long version,
            byte[] content)
            throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO applied (resource, operation, object_key,"
                        + " mode, token, grant_id, version, size_bytes, sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            insert.setString(1, resource);
            insert.setString(2, operation.name());
            insert.setString(3, key);
            insert.setString(4, sequencer == null ? "" : sequencer.mode().name());
            insert.setLong(5, token(sequencer));
            insert.setString(6, grantHex(sequencer));
            insert.setLong(7, version);
            insert.setLong(8, content.length);
            insert.setString(9, operation.writes() ? sha256(content) : "");
            insert.executeUpdate();
        }
    }

    static void readAll(Connection connection, Consumer<Row> consumer) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT seq, applied_at, resource, operation, object_key, mode,"
                        + " token, grant_id, version, size_bytes, sha256 FROM applied ORDER BY seq")) {
            while (rows.next()) {
                String mode = rows.getString(6);
                consumer.accept(new Row(
                        rows.getLong(1),
                        rows.getString(2),
                        rows.getString(3),
                        Operation.valueOf(rows.getString(4)),
                        rows.getString(5),
                        mode.isEmpty() ? null : Mode.valueOf(mode),
                        rows.getLong(7),
                        rows.getString(8),
                        rows.getLong(9),
                        rows.getLong(10),
                        rows.getString(11)));
            }
        }
    }

    static long token(@Nullable Sequencer sequencer) {
        return sequencer == null ? 0 : sequencer.token().value();
    }

    static String grantHex(@Nullable Sequencer sequencer) {
        return sequencer == null ? "" : sequencer.grant().toString();
    }

    static byte[] grantBytes(String grantHex) {
        return grantHex.isEmpty()
                ? new byte[0]
                : GrantId.of(HexFormat.of().parseHex(grantHex)).toBytes();
    }

    static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM lacks SHA-256", e);
        }
    }
}
