package dev.palisade.guard;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/** Tries every order of steps in a small world, shortest first, so that what it finds is the shortest way there. */
final class StepSearch {
    /** A world that starts anew each time, and does the same after the same steps. */
    interface World {
        Optional<String> violation();

        List<Step> possible();

        void take(Step step);

        /** Two worlds with equal fingerprints have the same future. */
        Object fingerprint();
    }

    /** One thing that can happen next. */
    record Step(String what, int which) {
        @Override
        public String toString() {
            return which < 0 ? what : what + "(" + which + ")";
        }
    }

    private long states;

    /** Worlds seen so far. */
    long states() {
        return states;
    }

    /** The shortest way to a violation, if there is one. */
    Optional<String> violation(Supplier<? extends World> start) {
        Set<Object> seen = new HashSet<>();
        Deque<List<Step>> paths = new ArrayDeque<>();
        paths.add(List.of());
        while (!paths.isEmpty()) {
            List<Step> path = paths.remove();
            World world = start.get();
            path.forEach(world::take);
            if (world.violation().isPresent()) {
                return Optional.of(path + ": " + world.violation().get());
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
}
