package dev.palisade.server.store.postgresql;

import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.LogState;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.log.BatchSpan;
import dev.palisade.server.store.log.OwnerKey;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Row of a log as it was read. Immutable.
 *
 * @param head null in an empty log
 * @param tokens the count of tokens
 * @param settling null unless the log waits for its last owner, as this process of PostgreSQL began it
 * @param batches what the head says of them
 * @param takeover how the owner became it
 * @param keyId of the key with which the owner signs
 * @param settings of the owner
 * @param nowMillis PostgreSQL's time when it was read
 * @param instance of the running PostgreSQL; empty when another program wrote the row
 * @param version with {@code rowVersion}, says whether the row has changed since
 */
record LogRow(
        int format,
        LogState.@Nullable Head head,
        boolean yielded,
        long tokens,
        LogState.@Nullable Settling settling,
        BatchSpan batches,
        StoreStatus.Takeover takeover,
        String keyId,
        String settings,
        long nowMillis,
        String instance,
        String presentInstance,
        String version,
        String rowVersion) {
    /** @param row one of {@link LogSql#readHead} */
    static LogRow of(ResultSet row) throws SQLException {
        String present = row.getString("present_instance");
        String settling = row.getString("settling_writer");
        boolean isSettling =
                settling != null && row.getString("settling_instance").equals(present);
        return new LogRow(
                row.getInt("format"),
                head(row),
                row.getBoolean("yielded"),
                row.getLong("tokens"),
                isSettling
                        ? new LogState.Settling(
                                new Position(WriterId.parse(settling), row.getLong("settling_seq")),
                                row.getLong("settling_since"),
                                row.getLong("settling_term"))
                        : null,
                new BatchSpan(row.getLong("first_batch"), row.getLong("next_batch"), row.getLong("batches")),
                new StoreStatus.Takeover(
                        row.getLong("taken_at"), row.getString("taken_why"), row.getString("taken_from")),
                row.getString("key_id"),
                row.getString("settings"),
                row.getLong("now"),
                row.getBoolean("untouched") ? present : "",
                present,
                row.getString("version"),
                row.getString("row_version"));
    }

    private static LogState.@Nullable Head head(ResultSet row) throws SQLException {
        String writer = row.getString("writer");
        if (writer == null) {
            return null;
        }
        return new LogState.Head(
                WriterId.parse(writer),
                row.getLong("seq"),
                new Position(WriterId.parse(row.getString("base_writer")), row.getLong("base_seq")),
                row.getBoolean("whole"),
                row.getLong("term"),
                row.getString("server"),
                row.getString("address"),
                row.getLong("claimed_until"),
                row.getString("instance"),
                row.getLong("generation"),
                row.getLong("rewriting"),
                row.getLong("recovering_until"));
    }

    /** @param complete whether all batches are there */
    LogState state(boolean complete) {
        LogState.Head before = head;
        if (before == null || complete) {
            return LogState.lasting(before, tokens, complete ? instance : "", settling);
        }
        LogState.Head rest = before.withoutHistory();
        return LogState.lasting(rest, tokens, "", settlingAt(before.position(), rest.position()));
    }

    /**
     * A log that has settled at {@code found} need not settle again because it turns out that batches are gone: that would be another
     * position, then the row's again, and so on without an end.
     */
    private LogState.@Nullable Settling settlingAt(Position found, Position rest) {
        return settling != null && settling.at().equals(found)
                ? new LogState.Settling(rest, settling.sinceMillis(), settling.term())
                : settling;
    }

    /** The owner, also a former one; empty in an empty log. */
    Optional<OwnerKey> owner() {
        return Optional.ofNullable(head)
                .map(owner -> new OwnerKey(owner.address(), keyId, owner.untilMillis() > nowMillis));
    }

    /** Generation of the batches that count. */
    long generation() {
        return head == null ? 1 : head.generation();
    }
}
