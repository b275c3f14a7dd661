package dev.palisade.server.store.redis;

import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which primary serves which slot: everywhere the same but in a cluster. Never changed. */
final class Route {
    static final int SLOTS = 16_384;
    static final Route NOWHERE = new Route(new @Nullable Address[] {null});

    private final @Nullable Address[] bySlot;
    private final Set<Address> primaries = new LinkedHashSet<>();

    private Route(@Nullable Address[] bySlot) {
        this.bySlot = bySlot;
        for (Address address : bySlot) {
            if (address != null) {
                primaries.add(address);
            }
        }
    }

    static Route to(Address primary) {
        return new Route(new @Nullable Address[] {primary});
    }

    /** @param bySlot one for each slot; null where nobody serves it */
    static Route of(@Nullable Address[] bySlot) {
        return new Route(bySlot.clone());
    }

    Set<Address> primaries() {
        return primaries;
    }

    boolean isCluster() {
        return bySlot.length > 1;
    }

    /** Null where nobody serves it. */
    @Nullable
    Address primaryOf(int slot) {
        return bySlot[bySlot.length == 1 ? 0 : slot];
    }
}
