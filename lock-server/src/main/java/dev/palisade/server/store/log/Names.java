package dev.palisade.server.store.log;

import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The known names in order, for pages of what is in use. A name comes and goes with its slot, not with each grant, so a hot lock
 * never touches the order; the price is that a page walks over names that are known and unused, and so has a bound of
 * names to look at. Touched by one thread at a time, whose turn it is.
 */
final class Names {
    private final NavigableMap<String, Slot> byName = new TreeMap<>();

    void add(Slot slot) {
        byName.put(slot.state.name().value(), slot);
    }

    void remove(Slot slot) {
        byName.remove(slot.state.name().value());
    }

    int size() {
        return byName.size();
    }

    /** A page and how many names were looked at for it. */
    record Walk(LockPage page, int lookedAt) {}

    /**
     * Walks on from {@code after}.
     *
     * @param after a name with that prefix; empty to begin
     * @param locksMax locks of the page
     * @param namesMax names to look at
     */
    Walk walk(String prefix, String after, int locksMax, int namesMax, long nowMillis) {
        List<LockState> found = new ArrayList<>();
        String last = after;
        int lookedAt = 0;
        NavigableMap<String, Slot> rest = after.isEmpty() ? byName.tailMap(prefix, true) : byName.tailMap(after, false);
        for (Slot slot : rest.values()) {
            String name = slot.state.name().value();
            if (!name.startsWith(prefix)) {
                break;
            }
            if (found.size() == locksMax || lookedAt == namesMax) {
                return new Walk(new LockPage(found, last, nowMillis), lookedAt);
            }
            lookedAt++;
            last = name;
            if (slot.state.inUse(nowMillis)) {
                found.add(slot.state);
            }
        }
        return new Walk(new LockPage(found, "", nowMillis), lookedAt);
    }
}
