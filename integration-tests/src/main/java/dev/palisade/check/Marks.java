package dev.palisade.check;

import java.util.Map;

/**
 * Snapshot of all marks of a storage.
 *
 * @param when name of the time, for people
 */
public record Marks(String when, Map<String, Mark> byResource) {
    public Marks {
        byResource = Map.copyOf(byResource);
    }

    /**
     * The mark of one resource.
     *
     * @param exclusiveToken 0: none
     * @param exclusiveGrant empty: none
     * @param sharedToken 0: none
     */
    public record Mark(long exclusiveToken, String exclusiveGrant, long sharedToken) {}
}
