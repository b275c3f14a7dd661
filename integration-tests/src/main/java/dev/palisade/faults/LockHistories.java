package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.LockUnavailableException;
import dev.palisade.client.Operations;
import dev.palisade.client.Operations.HistoryEntry;
import dev.palisade.scenario.History;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The lock server's own history of each lock, asked for again and again because it remembers the last 50 entries only and
 * none after a restart. Each unbroken piece is a <i>stretch</i>: between two of them something may be missing. Safe for many threads.
 */
final class LockHistories {
    private static final long EVERY_MILLIS = 150;

    private final Operations operations;
    private final History history;
    private final List<String> locks;
    private final Map<String, HistoryEntry> newest = new HashMap<>();
    private final Map<String, Integer> stretches = new HashMap<>();
    private final Set<Object> forced = new HashSet<>();

    LockHistories(Operations operations, History history, Locks locks) {
        this.operations = operations;
        this.history = history;
        this.locks = locks.names();
    }

    void watch(Stopping stopping) {
        while (!stopping.within(EVERY_MILLIS)) {
            poll();
        }
    }

    /** Asks for all locks once; what cannot be had now is had later, or missing. */
    synchronized void poll() {
        for (String lock : locks) {
            try {
                take(lock, operations.history(lock));
            } catch (LockUnavailableException e) {
                return; // It is down, or stopped.
            }
        }
    }

    /** The server has forgotten: what comes is a new stretch. */
    synchronized void forget() {
        newest.clear();
        locks.forEach(lock -> stretches.merge(lock, 1, Integer::sum));
    }

    private void take(String lock, List<HistoryEntry> entries) {
        HistoryEntry last = newest.get(lock);
        int from = last == null ? 0 : entries.lastIndexOf(last) + 1;
        if (last != null && from == 0) {
            stretches.merge(lock, 1, Integer::sum);
        }
        for (HistoryEntry entry : entries.subList(from, entries.size())) {
            newest.put(lock, entry);
            // Forced releases are remembered across restarts and told again.
            if (!entry.what().equals("FORCE_RELEASED") || forced.add(List.of(lock, entry))) {
                write(lock, entry);
            }
        }
    }

    private void write(String lock, HistoryEntry entry) {
        JsonObject event = history.event("lock-history");
        event.addProperty("lock", lock);
        event.addProperty("stretch", stretches.getOrDefault(lock, 0));
        event.addProperty("what", entry.what());
        event.addProperty("at_millis", entry.at().toEpochMilli());
        entry.token().ifPresent(token -> event.addProperty("token", token.value()));
        event.addProperty("grant", entry.grant().toString());
        event.addProperty("owner", entry.owner());
        event.addProperty("detail", entry.detail());
        history.write(event);
    }
}
