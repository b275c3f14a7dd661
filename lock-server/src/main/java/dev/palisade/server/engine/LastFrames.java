package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Bounded map of the arrival times of the last frames before a lease ended, by grant; those of the newest ends. Nothing is decided by
 * it: an explanation shows since when the client was silent. Thread-safe.
 */
final class LastFrames {
    private static final int GRANTS_MAX = 10_000;

    private final Map<GrantId, Long> newest = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<GrantId, Long> eldest) {
            return size() > GRANTS_MAX;
        }
    };

    /** The stream of {@code session} held the grant until it ended. */
    synchronized void put(GrantId grant, Session session) {
        newest.put(grant, session.heardAtMillis());
    }

    /** When the last frame of the lease's stream arrived, milliseconds of the store's time. */
    synchronized Optional<Long> of(GrantId grant) {
        return Optional.ofNullable(newest.get(grant));
    }
}
