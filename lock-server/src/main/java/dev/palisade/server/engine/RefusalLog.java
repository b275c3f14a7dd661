package dev.palisade.server.engine;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.explain.RefusalReport;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Bounded in-memory log of the refusals that guards reported: the newest of each lock, and of the locks the most recently reported
 * ones. Reports that say the same are one. What is kept never grows past that, whatever names are reported. Thread-safe.
 */
public final class RefusalLog {
    /** Of one lock. */
    static final int OF_LOCK_MAX = 16;

    /** Of all locks together; one takes at most about 2 kB. */
    static final int OF_ALL_MAX = 10_000;

    /** The lock that was reported longest ago first, and of each the report that is oldest first. */
    private final Map<LockName, List<RefusalReport>> byLock = new LinkedHashMap<>(16, 0.75f, false);

    private int size;

    RefusalLog() {}

    /** Takes a report; the oldest give way. */
    public synchronized void add(RefusalReport report) {
        List<RefusalReport> ofLock = byLock.remove(report.lock());
        if (ofLock == null) {
            ofLock = new ArrayList<>(1);
        }
        byLock.put(report.lock(), ofLock);
        RefusalReport sum = report;
        for (int i = ofLock.size() - 1; i >= 0; i--) {
            if (ofLock.get(i).isLike(report)) {
                sum = ofLock.remove(i).and(report);
                size--;
            }
        }
        if (ofLock.size() == OF_LOCK_MAX) {
            ofLock.remove(0);
            size--;
        }
        ofLock.add(sum);
        size++;
        while (size > OF_ALL_MAX) {
            Map.Entry<LockName, List<RefusalReport>> oldest =
                    byLock.entrySet().iterator().next();
            size -= oldest.getValue().size();
            byLock.remove(oldest.getKey());
        }
    }

    /** The reports of a lock, the newest last. */
    public synchronized List<RefusalReport> of(LockName lock) {
        return List.copyOf(byLock.getOrDefault(lock, List.of()));
    }

    /** Newest reports of all locks, the newest first: for an overview. */
    public synchronized List<RefusalReport> newest(int most) {
        List<RefusalReport> all = new ArrayList<>();
        byLock.values().forEach(all::addAll);
        all.sort((one, other) -> Long.compare(other.lastAtMillis(), one.lastAtMillis()));
        return List.copyOf(all.subList(0, Math.min(most, all.size())));
    }
}
