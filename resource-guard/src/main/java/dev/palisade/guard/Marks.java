package dev.palisade.guard;

import dev.palisade.guard.MarkStore.StoredMark;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * The contents of a file store, in memory: the changes so far, each replacing the ones it overrides. Not
 * thread-safe. Never compares marks.
 */
final class Marks {
    private final Map<String, StoredMark> marks = new HashMap<>();
    private final Map<Domain, BaseMark> bases = new HashMap<>();
    private final Map<String, Long> registrations = new HashMap<>();
    private String id = "";
    private boolean complete;
    private boolean closedInOrder;

    private record Domain(String issuer, int domain) {}

    void apply(Change change) {
        if (change instanceof Change.Put put) {
            marks.put(put.mark().resource(), put.mark());
        } else if (change instanceof Change.Base raised) {
            BaseMark base = raised.base();
            bases.put(new Domain(base.issuer(), base.domain()), base);
            raised.dropped().forEach(marks::remove);
        } else if (change instanceof Change.State state) {
            complete = state.complete();
            closedInOrder = state.closedInOrder();
        } else if (change instanceof Change.Identity identity) {
            id = identity.id();
        } else if (change instanceof Change.Forget) {
            marks.clear();
            bases.clear();
            complete = false;
        } else if (change instanceof Change.Registration registration) {
            registrations.put(registration.name(), registration.token());
        }
    }

    /** {@link MarkStore#id}; empty: none was given yet. */
    String id() {
        return id;
    }

    /** A random identity that no other marks have. */
    static String newId() {
        return UUID.randomUUID().toString().replace("-", "");
    }

    KeptMarks kept() {
        return new KeptMarks(
                complete, closedInOrder, List.copyOf(marks.values()), List.copyOf(bases.values()), registrations);
    }

    /** The fewest changes that make an empty one equal to this. */
    Iterable<Change> changes() {
        return () -> Stream.of(
                        Stream.of(new Change.State(complete, closedInOrder)),
                        Stream.of(id).filter(given -> !given.isEmpty()).map(Change.Identity::new),
                        registrations.entrySet().stream()
                                .map(each -> new Change.Registration(each.getKey(), each.getValue())),
                        bases.values().stream().map(base -> new Change.Base(base, List.of())),
                        marks.values().stream().map(Change.Put::new))
                .<Change>flatMap(changes -> changes)
                .iterator();
    }
}
