package dev.palisade.faults;

import dev.palisade.check.Marks;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.io.IOException;
import java.sql.SQLException;

/** A storage that compares tokens in its own transactions. */
final class SelfGuarding implements Front {
    private final Installation installation;
    private final String guard;
    private Service objects;

    SelfGuarding(Installation installation, boolean guard) {
        this.installation = installation;
        this.guard = guard ? "enforce" : "off";
        this.objects = installation.objects("--guard", this.guard);
    }

    @Override
    public Service service() {
        return objects;
    }

    @Override
    public void restart(Runnable between) {
        objects.child().kill();
        between.run();
        objects = installation.objects("--guard", guard, "--port", objects.port());
    }

    @Override
    public Marks marks(String when) throws IOException, SQLException {
        return Database.readCopy(
                installation.home().resolve("objects"), connection -> Database.marks(connection, when));
    }

    @Override
    public void stop() {
        objects.child().terminate();
    }

    @Override
    public void close() {
        objects.child().close();
    }
}
