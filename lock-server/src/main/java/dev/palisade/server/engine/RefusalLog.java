package dev.palisade.server.engine;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.explain.RefusalReport;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Bounded in-memory log of the refusals that guards reported: for each reporter the newest of each lock, and of the locks the most
 * recently reported ones. When it is full, the reporter with the most reports loses its oldest, so that one cannot clear the reports of
 * the others. Reports that say the same are one. Thread-safe.
 */
public final class RefusalLog {
    /** Of one lock and reporter. */
    static final int OF_LOCK_MAX = 16;

    /** Of all locks together; one takes at most about 2 kB. */
    static final int OF_ALL_MAX = 10_000;

    private final Map<String, Reporter> reporters = new HashMap<>();
    private int size;

    RefusalLog() {}

    /** Reports of one principal. */
    private static final class Reporter {
        /** The lock that was reported longest ago first, and of each the report that is oldest first. */
        final Map<LockName, List<RefusalReport>> byLock = new LinkedHashMap<>();

        int size;

        void add(RefusalReport report) {
            List<RefusalReport> known = byLock.remove(report.lock());
            List<RefusalReport> ofLock = known == null ? new ArrayList<>(1) : known;
            byLock.put(report.lock(), ofLock);
            size -= ofLock.size();
            RefusalReport sum = report;
            for (int i = ofLock.size() - 1; i >= 0; i--) {
                if (ofLock.get(i).isLike(report)) {
                    sum = ofLock.remove(i).and(report);
                }
            }
            if (ofLock.size() == OF_LOCK_MAX) {
                ofLock.remove(0);
            }
            ofLock.add(sum);
            size += ofLock.size();
        }

        void removeOldest() {
            LockName oldest = byLock.keySet().iterator().next();
            size -= Objects.requireNonNull(byLock.remove(oldest)).size();
        }
    }

    /** Takes a report; the oldest give way. */
    public synchronized void add(RefusalReport report) {
        Reporter reporter = reporters.computeIfAbsent(report.principal(), name -> new Reporter());
        size -= reporter.size;
        reporter.add(report);
        size += reporter.size;
        while (size > OF_ALL_MAX) {
            removeOldestOfLargest();
        }
    }

    private void removeOldestOfLargest() {
        Map.Entry<String, Reporter> largest = reporters.entrySet().stream()
                .max(Comparator.comparingInt(each -> each.getValue().size))
                .orElseThrow();
        size -= largest.getValue().size;
        largest.getValue().removeOldest();
        size += largest.getValue().size;
        if (largest.getValue().size == 0) {
            reporters.remove(largest.getKey());
        }
    }

    /** The reports of a lock, the newest last. */
    public synchronized List<RefusalReport> of(LockName lock) {
        List<RefusalReport> all = new ArrayList<>();
        reporters.values().forEach(reporter -> all.addAll(reporter.byLock.getOrDefault(lock, List.of())));
        all.sort(Comparator.comparingLong(RefusalReport::lastAtMillis));
        return List.copyOf(all);
    }

    /** Newest reports of all locks, the newest first: for an overview. */
    public synchronized List<RefusalReport> newest(int most) {
        List<RefusalReport> all = new ArrayList<>();
        reporters.values().forEach(reporter -> reporter.byLock.values().forEach(all::addAll));
        all.sort(Comparator.comparingLong(RefusalReport::lastAtMillis).reversed());
        return List.copyOf(all.subList(0, Math.min(most, all.size())));
    }
}
