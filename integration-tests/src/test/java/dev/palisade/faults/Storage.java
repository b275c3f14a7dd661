package dev.palisade.faults;

import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.proto.v1.Mark;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A lock server, an object storage and a caller. */
final class Storage implements AutoCloseable {
    private final Installation installation = Installation.fresh();
    private final Service server = installation.server();
    private final Caller caller;
    private Service objects;

    Storage(String... options) {
        objects = installation.objects(options);
        caller = new Caller(server, objects);
    }

    Path home() {
        return installation.home();
    }

    Path dataDir() {
        return home().resolve("objects");
    }

    Lease acquire(String lock, Mode mode) throws InterruptedException {
        return caller.acquire(lock, mode);
    }

    /** Stops the storage by kill -9 and starts it again. */
    void restart(Tampering between, String... options) throws Exception {
        objects.child().kill();
        between.run();
        objects = installation.objects(options);
        caller.reconnect(objects);
    }

    interface Tampering {
        void run() throws Exception;
    }

    /** {@link Caller#send}. */
    Optional<Rejection> send(Verb verb, String key, @Nullable SignedSequencer sequencer) {
        return caller.send(verb, key, sequencer);
    }

    /** The mark that a claim leaves. */
    Mark mark(String key, @Nullable SignedSequencer sequencer) {
        return caller.mark(key, sequencer);
    }

    /** Stops the storage; what it has, as a run without increments. */
    Run stop(List<dev.palisade.check.Marks> earlier) throws IOException, SQLException {
        objects.child().terminate();
        return Database.readCopy(dataDir(), connection -> {
            List<dev.palisade.check.Marks> marks = new ArrayList<>(earlier);
            marks.add(Database.marks(connection, "end"));
            return new Run(caller.grants(), List.of(), Database.applied(connection), marks, List.of());
        });
    }

    @Override
    public void close() {
        caller.close();
        objects.child().kill();
        server.child().kill();
        installation.close();
    }
}
