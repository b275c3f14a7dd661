package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.check.AppliedCall;
import dev.palisade.check.Counter;
import dev.palisade.check.Marks;
import dev.palisade.scenario.History;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;

/** What the object store has kept, written into the history: its marks at a moment, and at the end all it applied. */
final class Kept {
    private Kept() {}

    /** While the store is killed. */
    static void marks(Path objectsDir, String when, History history) throws IOException, SQLException {
        write(Database.readCopy(objectsDir, connection -> Database.marks(connection, when)), history);
    }

    /** After the store was stopped. */
    static void everything(Path objectsDir, History history) throws IOException, SQLException {
        Marks marks = Database.readCopy(objectsDir, connection -> Database.marks(connection, "end"));
        write(marks, history);
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

    private static void write(Marks marks, History history) {
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
