package dev.palisade.incidents;

import org.jspecify.annotations.Nullable;

/** What became of one try to take a lock and its token. */
sealed interface Answer {
    Refused HELD = new Refused("held");

    /** @param node the server of the store that was asked; null where the issuer cannot tell, because it was changing over */
    record Taken(long token, @Nullable Node node) implements Answer {}

    /** Surely no token was issued to the asker: the lock is held, or there was an error reply or no connection. */
    record Refused(String why) implements Answer {}

    /** No reply: a token may have been issued. */
    record Unknown(String why) implements Answer {}
}
