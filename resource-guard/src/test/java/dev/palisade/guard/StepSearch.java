package dev.palisade.guard;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Breadth-first search of every order of steps in a small transition system, so that the path that it finds is the
 * shortest.
 */
final class StepSearch {
    /** A transition system that starts anew each time, and does the same after the same steps. */
    interface TransitionSystem {
        Optional<String> violation();

        List<Step> possible();

        void take(Step step);

        /** Two states with equal fingerprints have the same future. */
        Object fingerprint();
    }

    /** One possible next step. */
    record Step(String what, int which) {
        @Override
        public String toString() {
            return which < 0 ? what : what + "(" + which + ")";
        }
    }

    private long states;

    /** States seen so far. */
    long states() {
        return states;
    }

    /** The shortest path to a violation, if there is one. */
    Optional<String> violation(Supplier<? extends TransitionSystem> start) {
        Set<Object> seen = new HashSet<>();
        Deque<List<Step>> paths = new ArrayDeque<>();
        paths.add(List.of());
        while (!paths.isEmpty()) {
            List<Step> path = paths.remove();
            TransitionSystem system = start.get();
            path.forEach(system::take);
            if (system.violation().isPresent()) {
                return Optional.of(path + ": " + system.violation().get());
            }
            if (seen.add(system.fingerprint())) {
                states++;
                for (Step step : system.possible()) {
                    List<Step> longer = new ArrayList<>(path);
                    longer.add(step);
                    paths.add(longer);
                }
            }
        }
        return Optional.empty();
    }
}
