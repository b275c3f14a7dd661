package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.Operations;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.RejectedException;
import dev.palisade.faults.Cluster.ClientProcess;
import dev.palisade.faults.Cluster.FaultTarget;
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
 * Injector of one planned fault: injects it and repairs it, through a {@link FaultLifecycle}. Each fault has its own
 * thread. A fault without an unreserved client is skipped and not counted; a fault of a service waits until the service
 * is not hit by another.
 */
final class FaultInjector {
    private final Cluster cluster;
    private final History history;
    private final Locks locks;
    private final Operations operations;
    private final LockHistoryPoller lockHistories;
    private final Path objectsDir;
    private final FaultLifecycle lifecycle;
    private final RedisFaultInjector redisInjector;

    FaultInjector(
            Cluster cluster,
            History history,
            Locks locks,
            Operations operations,
            LockHistoryPoller lockHistories,
            Path objectsDir,
            FaultLifecycle lifecycle) {
        this.cluster = cluster;
        this.history = history;
        this.locks = locks;
        this.operations = operations;
        this.lockHistories = lockHistories;
        this.objectsDir = objectsDir;
        this.lifecycle = lifecycle;
        this.redisInjector = new RedisFaultInjector(cluster, lockHistories, lifecycle);
    }

    void inject(Planned fault) {
        switch (fault.kind()) {
            case PAUSE_CLIENTS -> pause(fault);
            case KILL_CLIENT ->
                cluster.reserve(FaultTarget.PROCESS, 1, fault.dice())
                        .forEach(client -> lifecycle.instant(fault, client.name(), "", () -> cluster.replace(client)));
            case FREEZE_SERVER_LINK, DELAY_SERVER_LINK, CUT_SERVER_LINK -> disturb(fault, FaultTarget.SERVER_LINK);
            case FREEZE_OBJECTS_LINK, DELAY_OBJECTS_LINK, CUT_OBJECTS_LINK -> disturb(fault, FaultTarget.OBJECTS_LINK);
            case KILL_SERVER, STOP_SERVER -> hitServer(fault, fault.dice() % cluster.servers());
            case KILL_OBJECTS ->
                cluster.exclusively(
                        "objects",
                        () -> lifecycle.lasting(
                                fault, "objects", "", () -> killObjects(fault.number()), cluster::restartObjects));
            case STOP_OBJECTS ->
                cluster.exclusively("objects", () -> {
                    Child child = cluster.objects().child();
                    lifecycle.lasting(fault, "objects", "", child::pause, child::resume);
                });
            case REQUEST_RELEASE, FORCE_RELEASE -> operate(fault);
            default -> redisInjector.inject(fault);
        }
    }

    private void hitServer(Planned fault, int number) {
        String name = Cluster.serverName(number);
        cluster.exclusively(name, () -> {
            if (fault.kind() == Schedule.Kind.KILL_SERVER) {
                lifecycle.lasting(fault, name, "", () -> killServer(number), () -> cluster.restartServer(number));
            } else {
                Child child = cluster.server(number).child();
                lifecycle.lasting(fault, name, "", child::pause, child::resume);
            }
        });
    }

    private void pause(Planned fault) {
        List<ClientProcess> reserved = cluster.reserve(FaultTarget.PROCESS, 1 + fault.dice() % 3, fault.dice());
        for (ClientProcess client : reserved) {
            client.child().pause();
            lifecycle.record("fault-began", fault, client.name(), "");
        }
        lifecycle.await(fault);
        for (ClientProcess client : reserved) {
            // The client acts again only after this time.
            lifecycle.record("fault-ended", fault, client.name(), "");
            client.child().resume();
            cluster.unreserve(client, FaultTarget.PROCESS);
        }
    }

    private void disturb(Planned fault, FaultTarget target) {
        for (ClientProcess client : cluster.reserve(target, 1, fault.dice())) {
            disturb(
                    fault,
                    client.name(),
                    target == FaultTarget.SERVER_LINK
                            ? chooseLinks(client.toServers(), fault.dice())
                            : List.of(client.toObjects()));
            cluster.unreserve(client, target);
        }
    }

    /** One of the links, or all. */
    private static List<Link> chooseLinks(List<Link> links, int dice) {
        int which = dice / 3 % (links.size() + 1);
        return which == links.size() ? links : List.of(links.get(which));
    }

    private void disturb(Planned fault, String who, List<Link> links) {
        int direction = fault.dice() % 3;
        switch (fault.kind()) {
            case FREEZE_SERVER_LINK, FREEZE_OBJECTS_LINK ->
                lifecycle.lasting(
                        fault,
                        who,
                        directionName(direction),
                        () -> links.forEach(link -> freeze(link, direction)),
                        () -> links.forEach(Link::heal));
            case DELAY_SERVER_LINK, DELAY_OBJECTS_LINK -> {
                int millis = 20 + fault.dice() % 380;
                lifecycle.lasting(
                        fault,
                        who,
                        millis + " ms",
                        () -> links.forEach(link -> link.delay(Duration.ofMillis(millis))),
                        () -> links.forEach(Link::heal));
            }
            default -> lifecycle.instant(fault, who, "", () -> links.forEach(Link::cut));
        }
    }

    static String directionName(int direction) {
        return new String[] {"both ways", "onward", "back"}[direction];
    }

    /** @param direction 0 both, 1 onward, 2 back */
    static void freeze(Link link, int direction) {
        if (direction != 2) {
            link.freeze(Link.Way.ONWARD);
        }
        if (direction != 1) {
            link.freeze(Link.Way.BACK);
        }
    }

    private void killServer(int number) {
        lockHistories.poll(); // Reads the lock histories, which are lost with the process.
        cluster.server(number).child().kill();
        if (!cluster.isOnRedis()) {
            lockHistories.startNewStretch();
        }
    }

    private void killObjects(int number) {
        cluster.objects().child().kill();
        try {
            StoreSnapshot.recordMarks(objectsDir, "restart " + number, history);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private void operate(Planned fault) {
        String lock = locks.names().get(fault.dice() % 3);
        JsonObject event = lifecycle.event("operated", fault, lock, "");
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
        lifecycle.record(event);
    }
}
