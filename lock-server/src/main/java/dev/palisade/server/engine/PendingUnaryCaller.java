package dev.palisade.server.engine;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Rejection;
import java.util.Optional;

/** The caller of a unary acquire that waits. Its methods must be brief: they run on the store's thread. */
@FunctionalInterface
public interface PendingUnaryCaller {
    /** Why it may not have the lock any more. Asked when the lock is offered, and after each change. */
    Optional<Rejection> denied();

    /** The acquire has to wait. */
    default void queued() {}

    /** The lock is offered, and accepted for the caller next. */
    default void offered(FencingToken token) {}
}
