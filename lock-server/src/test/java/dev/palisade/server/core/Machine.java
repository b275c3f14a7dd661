package dev.palisade.server.core;

/** What {@link Trace} and {@link Walk} run against: the lock machine, or a store that is to decide the same. */
@FunctionalInterface
public interface Machine {
    /** As {@link LockMachine#step}; {@code state} is what the step before came to, unless something was lost or restarted. */
    Decision step(
            LockState state,
            Command command,
            long nowMillis,
            long lastToken,
            long recoveringUntilMillis,
            Limits limits);
}
