package dev.palisade.server.ownership;

import dev.palisade.server.ownership.Ownership.Phase;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Tries every order of steps of two servers and a log, shortest first, so that what it finds is the shortest way there. */
final class OwnershipSearch {
    private record Node(OwnershipWorld world, @Nullable Way way) {}

    /** Steps, the last one first. */
    private record Way(WorldStep step, @Nullable Way before) {}

    private long states;
    private long documented;
    private final Set<Phase> phases = EnumSet.noneOf(Phase.class);

    /** Worlds seen so far. */
    long states() {
        return states;
    }

    /** Worlds in which two clients believed in the lock, in the case that is documented. */
    long documented() {
        return documented;
    }

    Set<Phase> phases() {
        return phases;
    }

    /** The shortest way to a violation, if there is one. */
    Optional<String> violation(WorldSetup setup) {
        Set<Long> seen = new HashSet<>();
        Deque<Node> open = new ArrayDeque<>();
        open.add(new Node(new OwnershipWorld(setup), null));
        while (!open.isEmpty()) {
            Node node = open.remove();
            for (WorldStep step : node.world().possible()) {
                OwnershipWorld next = node.world().after(step);
                Way way = new Way(step, node.way());
                if (next.violation() != null) {
                    return Optional.of(steps(way) + ": " + next.violation());
                }
                if (seen.add(next.fingerprint())) {
                    states++;
                    documented += next.isDocumentedOverlap() ? 1 : 0;
                    phases.addAll(next.phases());
                    open.add(new Node(next, way));
                }
            }
        }
        return Optional.empty();
    }

    private static List<WorldStep> steps(Way last) {
        List<WorldStep> steps = new ArrayList<>();
        for (Way way = last; way != null; way = way.before()) {
            steps.add(way.step());
        }
        Collections.reverse(steps);
        return steps;
    }
}
