package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Bounded set of the grants that this server saw end, the newest of them. A store may forget such an end together with the grant; with
 * this set the server does not let the grant be reclaimed all the same. Safe to share between threads.
 */
final class EndedGrants {
    private static final int GRANTS_MAX = 1 << 16;

    private final Set<GrantId> newest = Collections.newSetFromMap(new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<GrantId, Boolean> eldest) {
            return size() > GRANTS_MAX;
        }
    });

    synchronized void add(GrantId grant) {
        newest.add(grant);
    }

    synchronized boolean contains(GrantId grant) {
        return newest.contains(grant);
    }
}
