package dev.palisade.client;

import dev.palisade.contract.GrantId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The leases a client holds, by the grant that the server knows, and the smallest ttl among them. In the loop only. */
final class Leases {
    private final Map<GrantId, HeldLease> byGrant = new HashMap<>();
    private final TreeMap<Long, Integer> countByTtl = new TreeMap<>();
    private volatile int size;

    void add(HeldLease lease) {
        if (byGrant.put(lease.granted().id(), lease) == null) {
            countByTtl.merge(lease.grant().ttlMillis(), 1, Integer::sum);
            size = byGrant.size();
        }
    }

    void remove(HeldLease lease) {
        if (byGrant.remove(lease.granted().id(), lease)) {
            countByTtl.computeIfPresent(lease.grant().ttlMillis(), (ttl, count) -> count == 1 ? null : count - 1);
            size = byGrant.size();
        }
    }

    /** How many there were a moment ago; for any thread. */
    int size() {
        return size;
    }

    @Nullable
    HeldLease get(GrantId id) {
        return byGrant.get(id);
    }

    /** A copy: what is done with each may remove it. */
    List<HeldLease> all() {
        return List.copyOf(byGrant.values());
    }

    boolean isEmpty() {
        return byGrant.isEmpty();
    }

    OptionalLong smallestTtlMillis() {
        return countByTtl.isEmpty() ? OptionalLong.empty() : OptionalLong.of(countByTtl.firstKey());
    }
}
