package dev.palisade.guard;

import dev.palisade.guard.DoorWorld.Maker;
import dev.palisade.guard.DoorWorld.Spec;
import dev.palisade.guard.DoorWorld.Step;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Tries every order of steps in a {@link DoorWorld}, shortest first, so that what it finds is the shortest way there. */
final class DoorSearch {
    private final Maker maker;
    private final boolean mayCrash;
    private final boolean mayLoseSight;
    private long states;

    DoorSearch(Maker maker, boolean mayCrash, boolean mayLoseSight) {
        this.maker = maker;
        this.mayCrash = mayCrash;
        this.mayLoseSight = mayLoseSight;
    }

    /** Worlds seen so far. */
    long states() {
        return states;
    }

    /** The shortest way to a violation, if there is one. */
    Optional<String> violation(List<Spec> specs) {
        Set<Object> seen = new HashSet<>();
        Deque<List<Step>> paths = new ArrayDeque<>();
        paths.add(List.of());
        while (!paths.isEmpty()) {
            List<Step> path = paths.remove();
            DoorWorld world = replay(specs, path);
            if (world.violation().isPresent()) {
                return Optional.of(specs + " " + path + ": " + world.violation().get());
            }
            if (seen.add(world.fingerprint())) {
                states++;
                for (Step step : world.possible()) {
                    List<Step> longer = new ArrayList<>(path);
                    longer.add(step);
                    paths.add(longer);
                }
            }
        }
        return Optional.empty();
    }

    private DoorWorld replay(List<Spec> specs, List<Step> path) {
        DoorWorld world = new DoorWorld(maker, specs, mayCrash, mayLoseSight);
        path.forEach(world::take);
        return world;
    }
}
