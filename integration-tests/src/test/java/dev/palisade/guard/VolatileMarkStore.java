package dev.palisade.guard;

import java.util.List;

/**
 * A planted bug: says "durable" and keeps nothing, and after a restart says "never used". What the checkers must find. The
 * product's {@link MarkStore#memory} is honest about it and is no such bug.
 */
public final class VolatileMarkStore extends MemoryMarkStore {
    @Override
    KeptMarks open() {
        return new KeptMarks(true, false, List.of(), List.of());
    }

    @Override
    String id() {
        return "volatile";
    }
}
