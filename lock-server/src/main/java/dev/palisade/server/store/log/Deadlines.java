package dev.palisade.server.store.log;

import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Which lock time changes next. A lock is queued for its earliest deadline and looked at then; renewals move the deadline
 * without touching the queue. Touched by one thread at a time, whose turn it is.
 */
final class Deadlines {
    private final PriorityQueue<Entry> queue = new PriorityQueue<>();

    private record Entry(long atMillis, Slot slot) implements Comparable<Entry> {
        @Override
        public int compareTo(Entry other) {
            return Long.compare(atMillis, other.atMillis);
        }
    }

    void schedule(Slot slot, long nowMillis) {
        long next = slot.state.nextDeadlineMillis(nowMillis);
        if (next < slot.queuedDeadlineMillis) {
            slot.queuedDeadlineMillis = next;
            queue.add(new Entry(next, slot));
        }
    }

    /** When to look again; {@link Long#MAX_VALUE} for never. */
    long nextMillis() {
        Entry first = queue.peek();
        return first == null ? Long.MAX_VALUE : first.atMillis();
    }

    /** The next lock whose state time has changed by {@code nowMillis}; null when there is none. */
    @Nullable
    Slot poll(long nowMillis) {
        while (nextMillis() <= nowMillis) {
            Entry due = queue.remove();
            Slot slot = due.slot();
            if (due.atMillis() != slot.queuedDeadlineMillis) {
                continue; // Queued again for earlier since.
            }
            slot.queuedDeadlineMillis = Long.MAX_VALUE;
            // Seen from just before: the end of a lock-delay is no deadline any more once it has come.
            if (slot.state.nextDeadlineMillis(due.atMillis() - 1) <= nowMillis) {
                return slot;
            }
            schedule(slot, nowMillis);
        }
        return null;
    }
}
