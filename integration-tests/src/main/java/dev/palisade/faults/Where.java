package dev.palisade.faults;

/** Where the lock servers of a run keep their locks: each further place is open to more kinds of faults. */
enum Where {
    /** One lock server and its data directory. */
    DATA_DIR,
    /** Two lock servers and somebody's Redis, which is not harmed. */
    REDIS,
    /** Two lock servers and a Redis of the run's own. */
    OWN_REDIS
}
