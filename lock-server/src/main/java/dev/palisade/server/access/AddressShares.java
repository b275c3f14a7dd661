package dev.palisade.server.access;

import java.util.HashMap;
import java.util.Map;

/**
 * Bounded number of places that clients of many addresses share. One address may take more than its share while half of the places
 * are free, so that it cannot keep the others out. Thread-safe.
 */
final class AddressShares {
    private final int max;
    private final int share;
    private final Map<String, Integer> taken = new HashMap<>();
    private int total;

    /**
     * @param max places of all addresses together
     * @param share that an address has in any case, as long as there are places
     */
    AddressShares(int max, int share) {
        this.max = max;
        this.share = share;
    }

    /** Returns whether there was a place; the caller returns a place that it took. */
    synchronized boolean take(String address) {
        int own = taken.getOrDefault(address, 0);
        if (total >= max || (own >= share && 2 * total >= max)) {
            return false;
        }
        taken.put(address, own + 1);
        total++;
        return true;
    }

    synchronized void giveBack(String address) {
        total--;
        taken.computeIfPresent(address, (same, own) -> own == 1 ? null : own - 1);
    }
}
