package dev.palisade.incidents;

/** What became of one try to take a lock and its token. */
sealed interface Answer {
    Refused HELD = new Refused("held");

    /**
     * @param epoch as the issuer tells it; empty where it tells none
     * @param node the Redis that was asked
     */
    record Taken(long token, String epoch, Node node) implements Answer {}

    /** Surely no token was issued to the asker: the lock is held, or there was an error reply or no connection. */
    record Refused(String why) implements Answer {}

    /** No reply: a token may have been issued. */
    record Unknown(String why) implements Answer {}
}
