package dev.palisade.check;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P5: no client assumes an EXCLUSIVE lease while another client assumes a lease of the same lock. A lease
 * that the server ended early is exempt until its client is notified. A stopped client is not exempt: until its
 * deadline the lock is its own.
 */
public final class LeasesDisjoint {
    private LeasesDisjoint() {}

    public static List<String> violations(List<Held> leases) {
        Map<String, List<Held>> byLock = new HashMap<>();
        leases.stream()
                .sorted(Comparator.comparingLong(Held::fromNanos))
                .forEach(held -> byLock.computeIfAbsent(held.lock(), lock -> new ArrayList<>())
                        .add(held));
        List<String> found = new ArrayList<>();
        byLock.values().forEach(ofLock -> check(ofLock, found));
        return found;
    }

    private static void check(List<Held> byFrom, List<String> found) {
        List<Held> open = new ArrayList<>();
        for (Held next : byFrom) {
            if (next.untilNanos() <= next.fromNanos()) {
                continue; // Its client was stopped before the reply and never assumed the lease.
            }
            open.removeIf(earlier -> earlier.untilNanos() <= next.fromNanos());
            for (Held earlier : open) {
                if (!(earlier.shared() && next.shared())
                        && !earlier.freedEarly()
                        && !earlier.grant().equals(next.grant())) {
                    found.add("P5: " + next + " began " + millis(earlier.untilNanos() - next.fromNanos())
                            + " ms before the end of " + earlier);
                }
            }
            open.add(next);
        }
    }

    private static long millis(long nanos) {
        return nanos / 1_000_000;
    }
}
