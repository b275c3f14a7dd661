package dev.palisade.check;

import java.util.Map;

/**
 * All marks of a storage at one moment.
 *
 * @param when for the reader: which moment
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
