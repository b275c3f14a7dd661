package dev.palisade.server;

/** Where the locks of a store in Redis are decided. */
enum RedisMachine {
    /** In functions of Redis. Every lock server calls them. */
    FUNCTIONS,
    /** In the memory of one active lock server, over a log in Redis. The others are standbys. */
    LOG
}
