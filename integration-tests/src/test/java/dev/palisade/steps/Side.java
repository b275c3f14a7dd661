package dev.palisade.steps;

/** Where a round trip to the register is withheld. */
enum Side {
    /** The database has not got it. */
    REQUEST,
    /** The database has done it, and the guard does not know. */
    REPLY
}
