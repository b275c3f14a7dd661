package dev.palisade.server.store.log;

import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import java.util.ArrayList;
import java.util.List;

/** What is decided between two syncs of the log. Touched by one thread at a time. */
final class CommandBatch {
    /** Names visited for all lists of one batch. */
    private static final int NAMES_MAX = 10_000;

    private static final int NAMES_PER_LIST_MIN = 10;

    final long now;
    final List<Change> changes = new ArrayList<>();
    /** Whether anything was written that must be synced before a reply. */
    boolean written;

    private int namesVisited;

    /** A decision that took effect. */
    record Change(LockState state, List<LockEvent> events, long atMillis) {}

    CommandBatch(long now) {
        this.now = now;
    }

    /** However many lists come at once, other commands wait for a few milliseconds; each list makes some progress. */
    int namesLeft() {
        return Math.max(NAMES_PER_LIST_MIN, NAMES_MAX - namesVisited);
    }

    void visited(int names) {
        namesVisited += names;
    }
}
