package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.check.AppliedCall;
import dev.palisade.check.Counter;
import dev.palisade.check.Marks;
import dev.palisade.scenario.History;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;

/**
 * Recorder of snapshots of the object store: its marks at one time, and at the end of a run all applied calls and
 * counters.
 */
final class StoreSnapshot {
    private StoreSnapshot() {}

    /** Only while the store does not run. */
    static void recordMarks(Path objectsDir, String when, History history) throws IOException, SQLException {
        record(Database.readCopy(objectsDir, connection -> Database.marks(connection, when)), history);
    }

    /** Only after the store has ended. */
    static void recordAll(Path objectsDir, History history) throws IOException, SQLException {
        Marks marks = Database.readCopy(objectsDir, connection -> Database.marks(connection, "end"));
        record(marks, history);
        for (AppliedCall call : Database.readCopy(objectsDir, Database::applied)) {
            JsonObject event = history.event("applied");
            event.addProperty("seq", call.seq());
            event.addProperty("lock", call.resource());
            event.addProperty("key", call.key());
            event.addProperty("write", call.write());
            event.addProperty("shared", call.shared());
            event.addProperty("token", call.token());
            event.addProperty("grant", call.grant());
            event.addProperty("sha256", call.contentHash());
            history.write(event);
        }
        for (Counter counter : Database.readCopy(objectsDir, Database::counters)) {
            JsonObject event = history.event("counter");
            event.addProperty("key", counter.key());
            event.addProperty("value", counter.value());
            event.addProperty("sha256", counter.contentHash());
            history.write(event);
        }
    }

    private static void record(Marks marks, History history) {
        marks.byResource().forEach((resource, mark) -> {
            JsonObject event = history.event("mark");
            event.addProperty("when", marks.when());
            event.addProperty("lock", resource);
            event.addProperty("token", mark.exclusiveToken());
            event.addProperty("grant", mark.exclusiveGrant());
            event.addProperty("shared_token", mark.sharedToken());
            history.write(event);
        });
    }
}
