package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.Operations;
import dev.palisade.client.Operations.HistoryEntry;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.scenario.History;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The lock servers' own history of each lock, asked for again and again because they remember the last 50 entries only and, where they
 * keep it in memory, none after a restart. Each unbroken piece is a <i>stretch</i>: between two of them something may be missing. Safe
 * for many threads.
 */
final class LockHistories {
    private static final long EVERY_MILLIS = 150;

    private final Operations operations;
    private final History history;
    private final List<String> locks;
    private final Map<String, List<HistoryEntry>> known = new HashMap<>();
    private final Map<String, Integer> stretches = new HashMap<>();
    private final Set<String> afterLoss = new HashSet<>();
    private final Set<String> forced = new HashSet<>();

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

    /** Asks for all locks once; what cannot be had now is had later, or missing: then it returns false. */
    synchronized boolean poll() {
        for (String lock : locks) {
            try {
                take(lock, operations.history(lock));
            } catch (LockUnavailableException e) {
                return false; // It is down, or stopped.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    /** The server has forgotten: what comes is a new stretch. */
    synchronized void forget() {
        known.clear();
        locks.forEach(lock -> stretches.merge(lock, 1, Integer::sum));
    }

    /** Runs {@code loss}, by which the store may forget some or all of the past: what comes is a new stretch. */
    synchronized void around(Runnable loss) {
        boolean whole = poll();
        loss.run();
        for (String lock : locks) {
            stretches.merge(lock, 1, Integer::sum);
            if (whole) {
                afterLoss.add(lock);
            }
        }
    }

    private void take(String lock, List<HistoryEntry> entries) {
        List<HistoryEntry> before = known.getOrDefault(lock, List.of());
        int told = overlap(before, entries);
        if (told == 0 && !before.isEmpty() && !entries.isEmpty()) {
            stretches.merge(lock, 1, Integer::sum);
        }
        for (HistoryEntry entry : entries.subList(told, entries.size())) {
            // After a gap some of it may be old all the same. Forced releases are remembered across restarts and told
            // again.
            if ((told > 0 || before.stream().noneMatch(old -> isSame(old, entry)))
                    && (!entry.what().equals("FORCE_RELEASED") || forced.add(lock + " " + entry.grant()))) {
                write(lock, entry);
            }
        }
        if (!entries.isEmpty()) {
            known.put(lock, entries);
        }
    }

    /** How many of {@code entries} were told before, as its newest: the most that can be. */
    static int overlap(List<HistoryEntry> before, List<HistoryEntry> entries) {
        for (int same = Math.min(before.size(), entries.size()); same > 0; same--) {
            boolean all = true;
            for (int i = 0; all && i < same; i++) {
                all = isSame(before.get(before.size() - same + i), entries.get(i));
            }
            if (all) {
                return same;
            }
        }
        return 0;
    }

    /** But for the time: a lock server tells it differently each time. */
    private static boolean isSame(HistoryEntry one, HistoryEntry other) {
        return one.what().equals(other.what())
                && one.grant().equals(other.grant())
                && one.token().equals(other.token())
                && one.owner().equals(other.owner())
                && one.detail().equals(other.detail());
    }

    private void write(String lock, HistoryEntry entry) {
        JsonObject event = history.event("lock-history");
        event.addProperty("lock", lock);
        event.addProperty("stretch", stretches.getOrDefault(lock, 0));
        if (afterLoss.remove(lock)) {
            event.addProperty("after_loss", true);
        }
        event.addProperty("what", entry.what());
        event.addProperty("at_millis", entry.at().toEpochMilli());
        entry.token().ifPresent(token -> event.addProperty("token", token.value()));
        event.addProperty("grant", entry.grant().toString());
        event.addProperty("owner", entry.owner());
        event.addProperty("detail", entry.detail());
        history.write(event);
    }
}
