package dev.palisade.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Checker of P5 for leases with a lock-delay: the lock server counts a lease as one before its holder uses it. If it
 * ends a used lease as a mere offer (lapsed, left, dropped), no lock-delay follows, and the next holder begins within
 * the former one's deadline.
 */
public final class OffersNotUsed {
    private static final Set<String> OF_OFFERS = Set.of("LAPSED", "LEFT", "DROPPED");

    private OffersNotUsed() {}

    /**
     * A lease that was used.
     *
     * @param grant in hexadecimal digits, as the lock server names it
     */
    public record Used(String grant, long token) {}

    /** @param withDelay granted leases that were requested with a lock-delay */
    public static List<String> violations(List<LockEntry> entries, Set<Used> withDelay) {
        List<String> found = new ArrayList<>();
        for (LockEntry entry : entries) {
            if (OF_OFFERS.contains(entry.what()) && withDelay.contains(new Used(entry.grant(), entry.token()))) {
                found.add("P5: " + entry + " was in use, with a lock-delay");
            }
        }
        return found;
    }
}
