package dev.palisade.incidents;

import org.jspecify.annotations.Nullable;

/** Outcome of one attempt to take a lock and its token. */
sealed interface AttemptOutcome {
    Refused HELD = new Refused("held");

    /** @param node of the store that issued it; null if unknown because of a failover */
    record Taken(long token, @Nullable Node node) implements AttemptOutcome {}

    /** Certainly no token was issued: the lock is held, or there was an error reply or no connection. */
    record Refused(String why) implements AttemptOutcome {}

    /** No reply: a token may have been issued. */
    record Unknown(String why) implements AttemptOutcome {}
}
