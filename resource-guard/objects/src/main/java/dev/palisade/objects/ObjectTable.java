package dev.palisade.objects;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.palisade.contract.Sequencer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The statements on {@code objects}. A deleted object keeps its row, so that versions rise across deletion. */
final class ObjectTable {
    private ObjectTable() {}

    /** The row's version and whether there is an object; version 0: the key was never written. */
    record Version(long latest, boolean present) {
        /** What callers call the version: 0 when there is no such object. */
        long shown() {
            return present ? latest : 0;
        }
    }

    /** Holds the row until the transaction ends; the fence does too, unless the guard is off. */
    static Version lockVersion(Connection connection, String key) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT version, deleted FROM objects WHERE object_key = ? FOR UPDATE")) {
            select.setString(1, key);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? new Version(row.getLong(1), !row.getBoolean(2)) : new Version(0, false);
            }
        }
    }

    static void write(
            Connection connection,
            String key,
            byte[] content,
            long version,
            @Nullable Sequencer sequencer,
            boolean deleted)
            throws SQLException {
        String sql = version == 1
                ? "INSERT INTO objects (content, size_bytes, version, token, grant_id, deleted, object_key)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?)"
                : "UPDATE objects SET content = ?, size_bytes = ?, version = ?, token = ?, grant_id = ?, deleted = ?"
                        + " WHERE object_key = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setBytes(1, content);
            statement.setLong(2, content.length);
            statement.setLong(3, version);
            statement.setLong(4, AppliedLog.token(sequencer));
            statement.setString(5, AppliedLog.grantHex(sequencer));
            statement.setBoolean(6, deleted);
            statement.setString(7, key);
            statement.executeUpdate();
        }
    }

    static Optional<StoredObject> read(Connection connection, String key) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT content, size_bytes, version, token, grant_id"
                        + " FROM objects WHERE object_key = ? AND deleted = FALSE")) {
            select.setString(1, key);
            try (ResultSet row = select.executeQuery()) {
                return row.next()
                        ? Optional.of(new StoredObject(
                                key,
                                UnsafeByteOperations.unsafeWrap(row.getBytes(1)),
                                row.getLong(2),
                                row.getLong(3),
                                row.getLong(4),
                                row.getString(5)))
                        : Optional.empty();
            }
        }
    }

    /** At most {@code limit} objects without their content, in key order, beginning with {@code prefix}, after {@code after}. */
    static List<StoredObject> list(Connection connection, String prefix, String after, int limit) throws SQLException {
        List<StoredObject> page = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement("SELECT object_key, size_bytes, version, token,"
                + " grant_id FROM objects WHERE object_key >= ? AND object_key > ? AND deleted = FALSE"
                + " ORDER BY object_key LIMIT ?")) {
            select.setString(1, prefix);
            select.setString(2, after);
            select.setInt(3, limit);
            try (ResultSet row = select.executeQuery()) {
                // Keys with the prefix lie together, from the prefix on: the first other key ends them.
                while (row.next() && row.getString(1).startsWith(prefix)) {
                    page.add(new StoredObject(
                            row.getString(1),
                            ByteString.EMPTY,
                            row.getLong(2),
                            row.getLong(3),
                            row.getLong(4),
                            row.getString(5)));
                }
            }
        }
        return page;
    }
}
