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
 * Poller of the lock servers' history of each lock. It polls often, because a server keeps only the last 50 entries,
 * and none after a restart if it stores them in memory. A <i>stretch</i> is a gapless part of the history. Safe for
 * many threads.
 */
final class LockHistoryPoller {
    private static final long EVERY_MILLIS = 150;

    private final Operations operations;
    private final History history;
    private final List<String> locks;
    private final Map<String, List<HistoryEntry>> known = new HashMap<>();
    private final Map<String, Integer> stretches = new HashMap<>();
    private final Set<String> afterLoss = new HashSet<>();
    private final Set<String> forced = new HashSet<>();

    LockHistoryPoller(Operations operations, History history, Locks locks) {
        this.operations = operations;
        this.history = history;
        this.locks = locks.names();
    }

    void watch(StopLatch stopping) {
        while (!stopping.await(EVERY_MILLIS)) {
            poll();
        }
    }

    /** Polls all locks once. Returns false if a server did not reply; a later poll may still read the entries. */
    synchronized boolean poll() {
        for (String lock : locks) {
            try {
                merge(lock, operations.history(lock));
            } catch (LockUnavailableException e) {
                return false; // The server is down or stopped.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    /** Starts a new stretch after a server has lost its history. */
    synchronized void startNewStretch() {
        known.clear();
        locks.forEach(lock -> stretches.merge(lock, 1, Integer::sum));
    }

    /** Runs {@code loss}, which may delete part of the history, and starts a new stretch. */
    synchronized void aroundDataLoss(Runnable loss) {
        boolean complete = poll();
        loss.run();
        for (String lock : locks) {
            stretches.merge(lock, 1, Integer::sum);
            if (complete) {
                afterLoss.add(lock);
            }
        }
    }

    private void merge(String lock, List<HistoryEntry> entries) {
        List<HistoryEntry> before = known.getOrDefault(lock, List.of());
        int overlap = overlap(before, entries);
        if (overlap == 0 && !before.isEmpty() && !entries.isEmpty()) {
            stretches.merge(lock, 1, Integer::sum);
        }
        for (HistoryEntry entry : entries.subList(overlap, entries.size())) {
            // After a gap some entries may still be known. Servers report forced releases again after a restart.
            if ((overlap > 0 || before.stream().noneMatch(old -> isSame(old, entry)))
                    && (!entry.what().equals("FORCE_RELEASED") || forced.add(lock + " " + entry.grant()))) {
                write(lock, entry);
            }
        }
        if (!entries.isEmpty()) {
            known.put(lock, entries);
        }
    }

    /** The largest number of entries at the end of {@code before} that are also the beginning of {@code entries}. */
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

    /** Equality except for the time, which a lock server estimates anew in each reply. */
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
