package dev.palisade.server.rpc;

import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockState;
import java.util.Comparator;
import java.util.Locale;

/** Order of a listing of locks. Locks that are equal by it are ordered by name. */
public enum LockOrder {
    NAME,
    /** Most waiters first, offered ones included. */
    WAITERS,
    /** Longest held first; locks without a holder come last. */
    HELD;

    /** As users write it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    Comparator<LockState> comparator() {
        Comparator<LockState> byName =
                Comparator.comparing(state -> state.name().value());
        return switch (this) {
            case NAME -> byName;
            case WAITERS ->
                Comparator.comparingInt(LockOrder::waiters).reversed().thenComparing(byName);
            case HELD -> Comparator.comparingLong(LockOrder::heldSinceMillis).thenComparing(byName);
        };
    }

    private static int waiters(LockState state) {
        return state.offers().size() + state.waiters().size();
    }

    private static long heldSinceMillis(LockState state) {
        return state.holders().stream().mapToLong(Grant::grantedAtMillis).min().orElse(Long.MAX_VALUE);
    }
}
