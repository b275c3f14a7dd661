package dev.palisade.client;

import dev.palisade.contract.GrantId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** An index of the leases that a client holds, by grant id, with the smallest ttl among them. In the loop only. */
final class Leases {
    private final Map<GrantId, GrantedLease> byGrant = new HashMap<>();
    private final TreeMap<Long, Integer> countByTtl = new TreeMap<>();
    private volatile int size;

    void add(GrantedLease lease) {
        if (byGrant.put(lease.granted().id(), lease) == null) {
            countByTtl.merge(lease.grant().ttlMillis(), 1, Integer::sum);
            size = byGrant.size();
        }
    }

    void remove(GrantedLease lease) {
        if (byGrant.remove(lease.granted().id(), lease)) {
            countByTtl.computeIfPresent(lease.grant().ttlMillis(), (ttl, count) -> count == 1 ? null : count - 1);
            size = byGrant.size();
        }
    }

    /** Number of leases; a recent value on other threads. */
    int size() {
        return size;
    }

    @Nullable
    GrantedLease get(GrantId id) {
        return byGrant.get(id);
    }

    /** A copy, because callers may remove leases while they iterate. */
    List<GrantedLease> all() {
        return List.copyOf(byGrant.values());
    }

    boolean isEmpty() {
        return byGrant.isEmpty();
    }

    OptionalLong smallestTtlMillis() {
        return countByTtl.isEmpty() ? OptionalLong.empty() : OptionalLong.of(countByTtl.firstKey());
    }
}
