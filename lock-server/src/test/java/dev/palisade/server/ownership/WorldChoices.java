package dev.palisade.server.ownership;

import dev.palisade.server.ownership.Ownership.Phase;
import dev.palisade.server.ownership.WorldSetup.Fault;
import dev.palisade.server.ownership.WorldSetup.Planted;
import dev.palisade.server.ownership.WorldStep.Fate;
import dev.palisade.server.ownership.WorldStep.Work;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What can happen next in a world. Steps that only differ in when nobody looks are left out. */
final class WorldChoices {
    private final OwnershipWorld world;

    WorldChoices(OwnershipWorld world) {
        this.world = world;
    }

    List<WorldStep> possible() {
        List<WorldStep> steps = new ArrayList<>();
        if (world.violation != null || world.documented || world.now > world.setup.ticks() * WorldSetup.TICK) {
            return steps;
        }
        boolean due = false;
        for (SimulatedServer server : world.servers) {
            if (isDue(server)) {
                due = true;
                addActs(steps, server);
                addFaults(steps, server);
            }
            if (keepsFromMemory(server)) {
                steps.add(WorldStep.of("keep", server.number));
            }
            if (world.tickBegins && !server.up) {
                steps.add(WorldStep.of("start", server.number));
            }
            if (world.tickBegins && server.paused) {
                steps.add(WorldStep.of("resume", server.number));
            }
            if (world.tickBegins && server.cut) {
                steps.add(WorldStep.of("mend", server.number));
            }
        }
        if (due || Arrays.stream(world.servers).noneMatch(SimulatedServer::isAvailable)) {
            addLogFaults(steps);
            if (world.late != null) {
                steps.add(WorldStep.of("late", -1));
            }
        }
        if (!due) {
            steps.add(WorldStep.of("tick", -1));
        }
        return steps;
    }

    private boolean keepsFromMemory(SimulatedServer server) {
        int holder = server.holder();
        return world.setup.planted().contains(Planted.KEEP_ALIVE_FROM_MEMORY)
                && server.up
                && !server.paused
                && server.ownership.phase() == Phase.SUSPENDED
                && holder != SimulatedServer.NONE
                && world.belief[holder] > world.now
                && world.belief[holder] < world.now + WorldSetup.TTL;
    }

    /** A server that has nothing to do may as well stop when it has. */
    private void addFaults(List<WorldStep> steps, SimulatedServer server) {
        if (may(Fault.CRASH)) {
            steps.add(WorldStep.of("crash", server.number));
        }
        if (may(Fault.PAUSE)) {
            steps.add(WorldStep.of("pause", server.number));
        }
        if (server.isAvailable() && may(Fault.STOP)) {
            steps.add(WorldStep.of("stop", server.number));
        }
    }

    private void addActs(List<WorldStep> steps, SimulatedServer server) {
        if (!server.flying.isEmpty()) {
            steps.add(WorldStep.of("receive", server.number));
            if (!maySendAnother(server)) {
                return;
            }
        }
        for (Work work : works(server)) {
            for (Fate fate : fates(server)) {
                steps.add(new WorldStep("act", server.number, work, fate));
            }
        }
    }

    private boolean maySendAnother(SimulatedServer server) {
        return server.reply == null
                && server.ownership.phase() == Phase.ACTIVE
                && !server.ownership.stopping()
                && server.flying.size() == 1;
    }

    private void addLogFaults(List<WorldStep> steps) {
        if (may(Fault.RESTART)) {
            steps.add(WorldStep.of("restart", -1));
        }
        if (may(Fault.EMPTY)) {
            steps.add(WorldStep.of("empty", -1));
        }
        if (may(Fault.FLUSH)) {
            steps.add(WorldStep.of("flush", -1));
        }
        if (may(Fault.RELOAD) && world.log.state.executedLast()) {
            steps.add(WorldStep.of("reload", -1));
        }
        for (int copy = 0; copy < world.log.copies.size(); copy++) {
            if (may(Fault.LOSS)) {
                steps.add(WorldStep.of("loss", copy));
            }
            if (may(Fault.RESTORE) && copy < world.log.copies.size() - 1) {
                if (world.log.state.seen() != null) {
                    // Excluded: keys put back by hand, and the functions loaded again before or after it.
                    steps.add(WorldStep.of("restore", copy));
                }
                steps.add(WorldStep.of("promoteAgain", copy));
            }
        }
    }

    private boolean may(Fault fault) {
        // Nothing goes wrong before there is something to lose.
        return world.faults < world.setup.faults()
                && world.setup.kinds().contains(fault)
                && !world.acknowledged.isEmpty()
                && (world.setup.repeats() || !world.happened.contains(fault));
    }

    private boolean isDue(SimulatedServer server) {
        boolean isBeforeTheFirstGrant = world.acknowledged.isEmpty() && server.number > 0;
        if (!server.up || server.paused || isBeforeTheFirstGrant) {
            return false;
        }
        return server.reply != null
                || !server.flying.isEmpty()
                || switch (server.ownership.phase()) {
                    case STANDBY, SUSPENDED -> server.ownership.wakeMillis() <= world.now;
                    case LOADING ->
                        server.beatAt < world.now
                                || world.now >= server.claimedAt + world.setup.loadTicks() * WorldSetup.TICK;
                    case ACTIVE, FREEING -> server.beatAt < world.now;
                    case RESENDING -> server.mustSend || server.ownership.wakeMillis() <= world.now;
                    case REWRITING, YIELDING -> server.mustSend;
                    case CLAIMING, STOPPED -> false;
                };
    }

    private List<Work> works(SimulatedServer server) {
        if (server.reply != null || server.ownership.phase() != Phase.ACTIVE) {
            return List.of(Work.NOTHING);
        }
        if (world.grants == 0) {
            return List.of(Work.GRANT_0); // Clients are alike.
        }
        List<Work> works = new ArrayList<>(List.of(Work.NOTHING));
        int holder = server.holder();
        boolean free = holder == SimulatedServer.NONE || server.leaseEnd <= world.now;
        if (!free && world.belief[holder] > world.now) {
            works.add(Work.KEEP);
        }
        if (free && server.recoveringUntil <= world.now && world.grants < world.setup.grants()) {
            if (holder != 0) {
                works.add(Work.GRANT_0);
            }
            if (holder != 1) {
                works.add(Work.GRANT_1);
            }
        } else if (!free && world.setup.flights() > 0 && world.grants < world.setup.grants()) {
            works.add(holder == 0 ? Work.GRANT_0 : Work.GRANT_1); // Once more: a batch that writes.
        }
        return works;
    }

    private List<Fate> fates(SimulatedServer server) {
        boolean others = !server.flying.isEmpty();
        List<Fate> fates = new ArrayList<>();
        if (!others) {
            fates.add(Fate.ARRIVES);
        }
        boolean matters = !server.ownership.past().isNone() || server.ownership.phase() != Phase.STANDBY;
        if (server.cut || server.reply != null) {
            return fates;
        }
        if (world.flights < world.setup.flights()
                && !world.acknowledged.isEmpty()
                && server.ownership.phase() == Phase.ACTIVE
                && !server.ownership.stopping()) {
            addFlying(fates);
        }
        if (may(Fault.CUT) && matters) {
            fates.add(Fate.CUT_BEFORE);
            fates.add(Fate.CUT_AFTER);
        }
        if (may(Fault.LATE) && world.late == null) {
            fates.add(Fate.CUT_AND_LATE);
            fates.add(Fate.REPEATED_LATE);
        }
        if (may(Fault.PAUSE)) {
            fates.add(Fate.PAUSED_AFTER);
        }
        if (may(Fault.REFUSE) && server.ownership.phase() == Phase.ACTIVE && !others) {
            fates.add(Fate.REFUSED);
        }
        return fates;
    }

    private void addFlying(List<Fate> fates) {
        fates.add(Fate.FLIES);
        if (may(Fault.CUT)) {
            fates.add(Fate.FLIES_UNANSWERED);
        }
        if (may(Fault.LATE) && world.late == null) {
            fates.add(Fate.FLIES_LATE);
        }
        if (may(Fault.REFUSE)) {
            fates.add(Fate.FLIES_REFUSED);
        }
    }
}
