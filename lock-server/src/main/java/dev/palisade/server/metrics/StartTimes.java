package dev.palisade.server.metrics;

import dev.palisade.server.core.BoundedMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Bounded map from an id to the time at which something with that id began. At the bound the oldest start is forgotten, and its
 * duration is not measured: an end that never becomes known costs no memory for ever. Thread-safe.
 */
final class StartTimes<K> {
    private final Map<K, Long> nanos;
    /** Without contention nothing waits: then an end takes no lock. */
    private volatile boolean isEmpty = true;

    /** @param max 1 or more */
    StartTimes(int max) {
        this.nanos = new BoundedMap<>(max);
    }

    /** Returns whether it was not known to have begun. */
    synchronized boolean began(K id, long nowNanos) {
        boolean isNew = nanos.putIfAbsent(id, nowNanos) == null;
        isEmpty = false;
        return isNew;
    }

    /** It begins now, whatever was before. */
    synchronized void beganAgain(K id, long nowNanos) {
        nanos.remove(id);
        nanos.put(id, nowNanos);
        isEmpty = false;
    }

    /** How long it lasted; empty when its begin is not known. */
    OptionalLong ended(K id, long nowNanos) {
        if (isEmpty) {
            return OptionalLong.empty();
        }
        synchronized (this) {
            Long began = nanos.remove(id);
            isEmpty = nanos.isEmpty();
            return began == null ? OptionalLong.empty() : OptionalLong.of(Math.max(0, nowNanos - began));
        }
    }
}
