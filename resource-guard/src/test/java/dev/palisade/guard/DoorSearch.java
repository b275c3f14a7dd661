package dev.palisade.guard;

import dev.palisade.guard.DoorWorld.Maker;
import dev.palisade.guard.DoorWorld.Spec;
import java.util.List;
import java.util.Optional;

/** Tries every order of steps in a {@link DoorWorld}. */
final class DoorSearch {
    private final Maker maker;
    private final boolean mayCrash;
    private final boolean mayLoseSight;
    private final StepSearch search = new StepSearch();

    DoorSearch(Maker maker, boolean mayCrash, boolean mayLoseSight) {
        this.maker = maker;
        this.mayCrash = mayCrash;
        this.mayLoseSight = mayLoseSight;
    }

    /** Worlds seen so far. */
    long states() {
        return search.states();
    }

    /** The shortest way to a violation, if there is one. */
    Optional<String> violation(List<Spec> specs) {
        return search.violation(() -> new DoorWorld(maker, specs, mayCrash, mayLoseSight))
                .map(found -> specs + " " + found);
    }
}
