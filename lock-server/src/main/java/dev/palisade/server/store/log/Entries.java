package dev.palisade.server.store.log;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.HistoryEntry;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Entries of many locks, the newest so many of each and the newest so many of all: what is kept never grows past that,
 * whatever names are used. Adding costs one entry and no search. Touched by one thread at a time, whose turn it is.
 */
final class Entries {
    private final int ofAllMax;
    private final int ofOneMax;
    private final Map<LockName, Line> lines = new HashMap<>();
    private @Nullable Entry oldest;
    private @Nullable Entry newest;
    private int size;

    Entries(int ofAllMax, int ofOneMax) {
        this.ofAllMax = ofAllMax;
        this.ofOneMax = ofOneMax;
    }

    /** One entry and its neighbours: in the line of its lock, and among all. */
    static final class Entry {
        final LockName lock;
        final HistoryEntry told;
        /** Rises with each entry, also between those of one millisecond. */
        final long number;
        /** Its record in the log; 0 for none. */
        long recordId;

        private @Nullable Entry older;
        private @Nullable Entry newer;
        private @Nullable Entry olderOfLock;
        private @Nullable Entry newerOfLock;

        Entry(LockName lock, HistoryEntry told, long number, long recordId) {
            this.lock = lock;
            this.told = told;
            this.number = number;
            this.recordId = recordId;
        }
    }

    /** The entries of one lock. */
    private static final class Line {
        @Nullable
        Entry oldest;

        @Nullable
        Entry newest;

        int size;
    }

    /** Returns the entry that had to go for it; null when there was room. */
    @Nullable
    Entry add(Entry entry) {
        Line line = lines.computeIfAbsent(entry.lock, lock -> new Line());
        Entry beforeOfLock = line.newest;
        entry.olderOfLock = beforeOfLock;
        if (beforeOfLock == null) {
            line.oldest = entry;
        } else {
            beforeOfLock.newerOfLock = entry;
        }
        line.newest = entry;
        line.size++;
        Entry before = newest;
        entry.older = before;
        if (before == null) {
            oldest = entry;
        } else {
            before.newer = entry;
        }
        newest = entry;
        size++;
        // One more than before: if one has to go, it makes room for both limits.
        @Nullable Entry gone = line.size > ofOneMax ? line.oldest : size > ofAllMax ? oldest : null;
        if (gone != null) {
            remove(gone);
        }
        return gone;
    }

    /** Always the oldest of its lock: of all, the oldest is that too. */
    private void remove(Entry entry) {
        Line line = lines.get(entry.lock);
        if (line == null) {
            throw new IllegalStateException("an entry without a line: " + entry.lock);
        }
        Entry nextOfLock = entry.newerOfLock;
        line.oldest = nextOfLock;
        if (nextOfLock == null) {
            lines.remove(entry.lock);
        } else {
            nextOfLock.olderOfLock = null;
        }
        line.size--;
        Entry before = entry.older;
        Entry after = entry.newer;
        if (before == null) {
            oldest = after;
        } else {
            before.newer = after;
        }
        if (after == null) {
            newest = before;
        } else {
            after.older = before;
        }
        size--;
    }

    /** The newest entries of a lock, at most {@code most}, oldest first. */
    Deque<Entry> newestOf(LockName lock, int most) {
        Deque<Entry> found = new ArrayDeque<>();
        Line line = lines.get(lock);
        Entry entry = line == null ? null : line.newest;
        while (entry != null && found.size() < most) {
            found.addFirst(entry);
            entry = entry.olderOfLock;
        }
        return found;
    }

    void forEach(Consumer<Entry> each) {
        for (Entry entry = oldest; entry != null; entry = entry.newer) {
            each.accept(entry);
        }
    }

    int size() {
        return size;
    }

    /** Locks that have an entry. */
    int locks() {
        return lines.size();
    }
}
