package dev.palisade.server.store.redis;

import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which primary serves which slot, and whether a majority of those that know said so: everywhere the same but in a cluster. Never
 * changed.
 */
final class Route {
    static final int SLOTS = 16_384;
    static final Route NOWHERE = new Route(new @Nullable Address[] {null}, false);

    private final @Nullable Address[] bySlot;
    private final boolean confirmed;
    private final Set<Address> primaries = new LinkedHashSet<>();

    private Route(@Nullable Address[] bySlot, boolean confirmed) {
        this.bySlot = bySlot;
        this.confirmed = confirmed;
        for (Address address : bySlot) {
            if (address != null) {
                primaries.add(address);
            }
        }
    }

    /** To the one that there is. */
    static Route to(Address primary) {
        return to(primary, true);
    }

    /** @param confirmed whether more than a minority said so */
    static Route to(Address primary, boolean confirmed) {
        return new Route(new @Nullable Address[] {primary}, confirmed);
    }

    /** @param bySlot one for each slot; null where no node serves it */
    static Route of(@Nullable Address[] bySlot) {
        return new Route(bySlot.clone(), true);
    }

    /** Whether a new epoch may begin there. A minority may be cut off together with a deposed primary. */
    boolean isConfirmed() {
        return confirmed;
    }

    Set<Address> primaries() {
        return primaries;
    }

    boolean isCluster() {
        return bySlot.length > 1;
    }

    /** Null where no node serves it. */
    @Nullable
    Address primaryOf(int slot) {
        return bySlot[bySlot.length == 1 ? 0 : slot];
    }
}
