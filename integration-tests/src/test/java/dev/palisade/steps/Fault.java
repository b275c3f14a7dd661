package dev.palisade.steps;

/** What happens to a gateway while its call stands at a {@link Step} and another client takes the lock. */
enum Fault {
    /** kill -9; an operator ends its entries &#916; later, or in time another gateway does. */
    KILL,
    /** SIGSTOP until its lease is over, then SIGCONT; nothing ends its entries. */
    STOP,
    /** SIGSTOP until another gateway has ended its entries, then SIGCONT. */
    TAKEN_OVER,
    /** Its connections to register and service are reset, at some steps that of its client too. */
    CUT,
    /** Only what is withheld comes late. */
    LATE
}
