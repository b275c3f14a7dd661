package dev.palisade.faults;

/** The lock backend of a run. Each further constant allows more kinds of faults. */
enum LockBackend {
    /** One lock server and its data directory. */
    DATA_DIR,
    /** Two lock servers and an external Redis, which gets no faults. */
    REDIS,
    /** Two lock servers and a Redis that the run starts itself. */
    OWN_REDIS
}
