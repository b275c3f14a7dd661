package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.Operations;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.RejectedException;
import dev.palisade.faults.Cast.Part;
import dev.palisade.faults.Cast.Player;
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
 * Does one planned fault, and undoes it, as a {@link Course}. Each fault
 * has a thread of its own. A fault whose clients others have already is left out and not counted; one of a service waits for its turn.
 */
final class Harm {
    private final Cast cast;
    private final History history;
    private final Locks locks;
    private final Operations operations;
    private final LockHistories lockHistories;
    private final Path objectsDir;
    private final Course course;
    private final RedisHarm redisHarm;

    Harm(
            Cast cast,
            History history,
            Locks locks,
            Operations operations,
            LockHistories lockHistories,
            Path objectsDir,
            Course course) {
        this.cast = cast;
        this.history = history;
        this.locks = locks;
        this.operations = operations;
        this.lockHistories = lockHistories;
        this.objectsDir = objectsDir;
        this.course = course;
        this.redisHarm = new RedisHarm(cast, lockHistories, course);
    }

    void happen(Planned fault) {
        switch (fault.kind()) {
            case PAUSE_CLIENTS -> pause(fault);
            case KILL_CLIENT ->
                cast.take(Part.PROCESS, 1, fault.dice())
                        .forEach(player -> course.instant(fault, player.name(), "", () -> cast.replace(player)));
            case FREEZE_SERVER_LINK, DELAY_SERVER_LINK, CUT_SERVER_LINK -> disturb(fault, Part.SERVER_LINK);
            case FREEZE_OBJECTS_LINK, DELAY_OBJECTS_LINK, CUT_OBJECTS_LINK -> disturb(fault, Part.OBJECTS_LINK);
            case KILL_SERVER, STOP_SERVER -> harmServer(fault, fault.dice() % cast.servers());
            case KILL_OBJECTS ->
                cast.alone(
                        "objects",
                        () -> course.lasting(
                                fault, "objects", "", () -> killObjects(fault.number()), cast::restartObjects));
            case STOP_OBJECTS ->
                cast.alone("objects", () -> {
                    Child child = cast.objects().child();
                    course.lasting(fault, "objects", "", child::pause, child::resume);
                });
            case REQUEST_RELEASE, FORCE_RELEASE -> operate(fault);
            default -> redisHarm.happen(fault);
        }
    }

    private void harmServer(Planned fault, int number) {
        String name = Cast.serverName(number);
        cast.alone(name, () -> {
            if (fault.kind() == Schedule.Kind.KILL_SERVER) {
                course.lasting(fault, name, "", () -> killServer(number), () -> cast.restartServer(number));
            } else {
                Child child = cast.server(number).child();
                course.lasting(fault, name, "", child::pause, child::resume);
            }
        });
    }

    private void pause(Planned fault) {
        List<Player> taken = cast.take(Part.PROCESS, 1 + fault.dice() % 3, fault.dice());
        for (Player player : taken) {
            player.child().pause();
            course.write("fault-began", fault, player.name(), "");
        }
        course.await(fault);
        for (Player player : taken) {
            // What it does once it goes on is done after this moment.
            course.write("fault-ended", fault, player.name(), "");
            player.child().resume();
            cast.giveBack(player, Part.PROCESS);
        }
    }

    private void disturb(Planned fault, Part part) {
        for (Player player : cast.take(part, 1, fault.dice())) {
            disturb(
                    fault,
                    player.name(),
                    part == Part.SERVER_LINK ? some(player.toServers(), fault.dice()) : List.of(player.toObjects()));
            cast.giveBack(player, part);
        }
    }

    /** One of them, or all. */
    private static List<Link> some(List<Link> links, int dice) {
        int which = dice / 3 % (links.size() + 1);
        return which == links.size() ? links : List.of(links.get(which));
    }

    private void disturb(Planned fault, String who, List<Link> links) {
        int way = fault.dice() % 3;
        switch (fault.kind()) {
            case FREEZE_SERVER_LINK, FREEZE_OBJECTS_LINK ->
                course.lasting(
                        fault,
                        who,
                        wayName(way),
                        () -> links.forEach(link -> freeze(link, way)),
                        () -> links.forEach(Link::heal));
            case DELAY_SERVER_LINK, DELAY_OBJECTS_LINK -> {
                int millis = 20 + fault.dice() % 380;
                course.lasting(
                        fault,
                        who,
                        millis + " ms",
                        () -> links.forEach(link -> link.delay(Duration.ofMillis(millis))),
                        () -> links.forEach(Link::heal));
            }
            default -> course.instant(fault, who, "", () -> links.forEach(Link::cut));
        }
    }

    static String wayName(int way) {
        return new String[] {"both ways", "onward", "back"}[way];
    }

    /** @param way 0 both, 1 onward, 2 back */
    static void freeze(Link link, int way) {
        if (way != 2) {
            link.freeze(Link.Way.ONWARD);
        }
        if (way != 1) {
            link.freeze(Link.Way.BACK);
        }
    }

    private void killServer(int number) {
        lockHistories.poll(); // What it remembers of its locks dies with it.
        cast.server(number).child().kill();
        if (!cast.isOnRedis()) {
            lockHistories.forget();
        }
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
        JsonObject event = course.event("operated", fault, lock, "");
        event.addProperty("lock", lock);
        String outcome;
        try {
            int leases = fault.kind() == Schedule.Kind.REQUEST_RELEASE
                    ? operations.requestRelease(lock, "operator", "fault " + fault.number())
                    : operations.forceRelease(lock, OptionalLong.empty(), "operator", "fault " + fault.number());
            outcome = Integer.toString(leases);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            outcome = "unknown";
        } catch (LockUnavailableException e) {
            outcome = "unknown";
        } catch (RejectedException e) {
            outcome = e.rejection().reason().name();
        }
        event.addProperty("leases", outcome);
        event.addProperty("answered", System.nanoTime());
        course.write(event);
    }
}
