package dev.palisade.server.core;

import java.util.LinkedHashMap;
import java.util.Map;

/** A map of the newest entries. At the bound each new key evicts the one that was inserted first. Not thread-safe. */
public final class BoundedMap<K, V> extends LinkedHashMap<K, V> {
    private static final long serialVersionUID = 1L;

    private final int entriesMax;

    /** @param entriesMax 1 or more */
    public BoundedMap(int entriesMax) {
        this.entriesMax = entriesMax;
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
        return size() > entriesMax;
    }
}
