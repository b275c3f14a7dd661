package dev.palisade.check;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P11: after the last fault no live client waits longer than the bound for a lock that no live client holds.
 * The bound includes the remains of dead clients and lapsed offers.
 */
public final class FreeLocksGranted {
    private FreeLocksGranted() {}

    /**
     * @param quietNanos end of the last fault
     * @param boundNanos ttl + lock-delay + grace + dead waiters × offer + poll
     */
    public static List<String> violations(List<Wait> waits, List<Held> leases, long quietNanos, long boundNanos) {
        Map<String, List<Held>> byLock = new HashMap<>();
        leases.stream()
                .sorted(Comparator.comparingLong(Held::fromNanos))
                .forEach(held -> byLock.computeIfAbsent(held.lock(), lock -> new ArrayList<>())
                        .add(held));
        List<String> found = new ArrayList<>();
        for (Wait wait : waits) {
            long free = longestFree(wait, byLock.getOrDefault(wait.lock(), List.of()), quietNanos);
            if (free > boundNanos) {
                found.add("P11: " + wait.client() + " waited for " + wait.lock() + " as " + wait.op() + " while for "
                        + free / 1_000_000 + " ms nobody held it; the bound is " + boundNanos / 1_000_000 + " ms");
            }
        }
        return found;
    }

    /** The longest time within the wait without a holder. */
    private static long longestFree(Wait wait, List<Held> byFrom, long quietNanos) {
        long freeSince = Math.max(wait.askedNanos(), quietNanos);
        long longest = 0;
        for (Held held : byFrom) {
            if (held.fromNanos() >= wait.untilNanos()) {
                break;
            }
            longest = Math.max(longest, held.fromNanos() - freeSince);
            freeSince = Math.max(freeSince, held.untilNanos());
        }
        return Math.max(longest, wait.untilNanos() - freeSince);
    }
}
