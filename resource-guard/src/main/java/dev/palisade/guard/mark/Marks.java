package dev.palisade.guard.mark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * What a file store holds, in memory: the changes so far, each taking the place of what it overrides. Not safe for threads.
 * Never compares marks: it keeps what it is told.
 */
final class Marks {
    private final Map<String, StoredMark> marks = new HashMap<>();
    private final Map<Domain, BaseMark> bases = new HashMap<>();
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

    boolean isComplete() {
        return complete;
    }

    KeptMarks kept() {
        return new KeptMarks(complete, closedInOrder, List.copyOf(marks.values()), List.copyOf(bases.values()));
    }

    /** The fewest changes that make an empty one equal to this. */
    Iterable<Change> changes() {
        return () -> Stream.of(
                        Stream.of(new Change.State(complete, closedInOrder)),
                        Stream.of(id).filter(given -> !given.isEmpty()).map(Change.Identity::new),
                        bases.values().stream().map(base -> new Change.Base(base, List.of())),
                        marks.values().stream().map(Change.Put::new))
                .<Change>flatMap(changes -> changes)
                .iterator();
    }
}
