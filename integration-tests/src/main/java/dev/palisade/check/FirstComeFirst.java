package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * P10: the lock is offered in the order in which its waiters came to the store, and nobody is granted it past them. Whoever let an
 * offer lapse is excepted from then on; whose offer was withdrawn is the first again. Judged within each stretch of the lock server's
 * own history: of who came before a gap nothing is claimed.
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
                    // One that is not known queued before the gap: before all that are known.
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
            queue.remove(head.grant()); // Told once.
        }
    }
}
