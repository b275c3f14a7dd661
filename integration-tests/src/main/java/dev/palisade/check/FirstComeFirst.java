package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checker of P10: offers follow the order in which waiters were queued at the store, and grants do not overtake
 * waiters. A waiter with a lapsed offer is exempt from then on; a waiter with a withdrawn offer is first again. Each
 * stretch of the lock server's history is checked separately, because the queue before a gap is unknown.
 */
public final class FirstComeFirst {
    private FirstComeFirst() {}

    private record Stretch(String lock, int number) {}

    public static List<String> violations(List<LockEntry> entries) {
        Map<Stretch, Map<String, LockEntry>> queues = new HashMap<>();
        Set<String> lapsed = new HashSet<>();
        List<String> found = new ArrayList<>();
        for (LockEntry entry : entries) {
            Map<String, LockEntry> queue = queues.computeIfAbsent(
                    new Stretch(entry.lock(), entry.stretch()), stretch -> new LinkedHashMap<>());
            switch (entry.what()) {
                case "QUEUED" -> queue.put(entry.grant(), entry);
                case "OFFERED" -> {
                    // An unknown waiter queued before the gap, so before all known waiters.
                    if (queue.containsKey(entry.grant())) {
                        check(queue, entry, found);
                        queue.remove(entry.grant());
                    }
                }
                case "GRANTED" -> check(queue, entry, found);
                case "LAPSED" -> lapsed.add(entry.grant());
                case "WITHDRAWN" -> {
                    if (!lapsed.contains(entry.grant())) {
                        putFirst(queue, entry);
                    }
                }
                case "LEFT", "TIMED_OUT", "DROPPED", "RECLAIMED" -> queue.remove(entry.grant());
                default -> {
                    // Not about the queue.
                }
            }
        }
        return found;
    }

    private static void putFirst(Map<String, LockEntry> queue, LockEntry entry) {
        Map<String, LockEntry> others = new LinkedHashMap<>(queue);
        queue.clear();
        queue.put(entry.grant(), entry);
        others.forEach(queue::putIfAbsent);
    }

    private static void check(Map<String, LockEntry> queue, LockEntry next, List<String> found) {
        if (queue.isEmpty()) {
            return;
        }
        LockEntry head = queue.values().iterator().next();
        if (!head.grant().equals(next.grant())) {
            found.add("P10: " + next + " went past " + head);
            queue.remove(head.grant()); // Reported once.
        }
    }
}
