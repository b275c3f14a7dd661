package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.LockUnavailableException;
import dev.palisade.client.Operations;
import dev.palisade.contract.RejectedException;
import dev.palisade.faults.Cast.Part;
import dev.palisade.faults.Cast.Player;
import dev.palisade.faults.Cast.Role;
import dev.palisade.faults.Schedule.Planned;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.History;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

/**
 * Does one planned fault, and undoes it: harms, writes down that it began, waits, heals, writes down that it ended. Each fault
 * has a thread of its own. A fault whose clients others have already is left out and not counted; one of a service waits for its turn.
 */
final class Harm {
    private final Cast cast;
    private final History history;
    private final Locks locks;
    private final Operations operations;
    private final LockHistories lockHistories;
    private final Path objectsDir;
    private final Stopping healing;

    /** @param healing ends every fault at once */
    Harm(
            Cast cast,
            History history,
            Locks locks,
            Operations operations,
            LockHistories lockHistories,
            Path objectsDir,
            Stopping healing) {
        this.cast = cast;
        this.history = history;
        this.locks = locks;
        this.operations = operations;
        this.lockHistories = lockHistories;
        this.objectsDir = objectsDir;
        this.healing = healing;
    }

    void happen(Planned fault) {
        switch (fault.kind()) {
            case PAUSE_CLIENTS -> pause(fault);
            case KILL_CLIENT ->
                cast.take(Part.PROCESS, 1, fault.dice())
                        .forEach(player -> instant(fault, player.name(), () -> cast.replace(player)));
            case FREEZE_SERVER_LINK, DELAY_SERVER_LINK, CUT_SERVER_LINK -> disturb(fault, Part.SERVER_LINK);
            case FREEZE_OBJECTS_LINK, DELAY_OBJECTS_LINK, CUT_OBJECTS_LINK -> disturb(fault, Part.OBJECTS_LINK);
            case KILL_SERVER ->
                cast.alone(Role.SERVER, () -> lasting(fault, "server", "", this::killServer, cast::restartServer));
            case STOP_SERVER ->
                cast.alone(Role.SERVER, () -> {
                    Child child = cast.server().child();
                    lasting(fault, "server", "", child::pause, child::resume);
                });
            case KILL_OBJECTS ->
                cast.alone(
                        Role.OBJECTS,
                        () -> lasting(fault, "objects", "", () -> killObjects(fault.number()), cast::restartObjects));
            case STOP_OBJECTS ->
                cast.alone(Role.OBJECTS, () -> {
                    Child child = cast.objects().child();
                    lasting(fault, "objects", "", child::pause, child::resume);
                });
            case REVOKE, FORCE_RELEASE -> operate(fault);
        }
    }

    private void pause(Planned fault) {
        List<Player> taken = cast.take(Part.PROCESS, 1 + fault.dice() % 3, fault.dice());
        for (Player player : taken) {
            player.child().pause();
            write("fault-began", fault, player.name(), "");
        }
        healing.within(fault.forMillis());
        for (Player player : taken) {
            // What it does once it goes on is done after this moment.
            write("fault-ended", fault, player.name(), "");
            player.child().resume();
            cast.giveBack(player, Part.PROCESS);
        }
    }

    private void disturb(Planned fault, Part part) {
        for (Player player : cast.take(part, 1, fault.dice())) {
            disturb(fault, player.name(), part == Part.SERVER_LINK ? player.toServer() : player.toObjects());
            cast.giveBack(player, part);
        }
    }

    private void disturb(Planned fault, String who, Link link) {
        int way = fault.dice() % 3;
        switch (fault.kind()) {
            case FREEZE_SERVER_LINK, FREEZE_OBJECTS_LINK ->
                lasting(
                        fault,
                        who,
                        new String[] {"both ways", "onward", "back"}[way],
                        () -> {
                            if (way != 2) {
                                link.freeze(Link.Way.ONWARD);
                            }
                            if (way != 1) {
                                link.freeze(Link.Way.BACK);
                            }
                        },
                        link::heal);
            case DELAY_SERVER_LINK, DELAY_OBJECTS_LINK -> {
                int millis = 20 + fault.dice() % 380;
                lasting(fault, who, millis + " ms", () -> link.delay(Duration.ofMillis(millis)), link::heal);
            }
            default -> instant(fault, who, link::cut);
        }
    }

    private void killServer() {
        lockHistories.poll(); // What it remembers of its locks dies with it.
        cast.server().child().kill();
        lockHistories.forget();
    }

    private void killObjects(int number) {
        cast.objects().child().kill();
        try {
            Kept.marks(objectsDir, "restart " + number, history);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private void operate(Planned fault) {
        String lock = locks.names().get(fault.dice() % 3);
        JsonObject event = event("operated", fault, lock, "");
        event.addProperty("lock", lock);
        String outcome;
        try {
            int leases = fault.kind() == Schedule.Kind.REVOKE
                    ? operations.revoke(lock, "operator", "fault " + fault.number())
                    : operations.forceRelease(lock, OptionalLong.empty(), "operator", "fault " + fault.number());
            outcome = Integer.toString(leases);
        } catch (LockUnavailableException e) {
            outcome = "unknown";
        } catch (RejectedException e) {
            outcome = e.rejection().reason().name();
        }
        event.addProperty("leases", outcome);
        event.addProperty("answered", System.nanoTime());
        history.write(event);
    }

    private void instant(Planned fault, String who, Runnable what) {
        write("fault-began", fault, who, "");
        what.run();
        write("fault-ended", fault, who, "");
    }

    private void lasting(Planned fault, String who, String how, Runnable harm, Runnable heal) {
        write("fault-began", fault, who, how);
        harm.run();
        healing.within(fault.forMillis());
        heal.run();
        write("fault-ended", fault, who, how);
    }

    private void write(String name, Planned fault, String who, String how) {
        history.write(event(name, fault, who, how));
    }

    private JsonObject event(String name, Planned fault, String who, String how) {
        JsonObject event = history.event(name);
        event.addProperty("fault", fault.kind().name());
        event.addProperty("number", fault.number());
        event.addProperty("who", who);
        event.addProperty("how", how);
        return event;
    }
}
