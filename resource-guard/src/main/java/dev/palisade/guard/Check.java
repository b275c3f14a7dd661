package dev.palisade.guard;

/** What is asked before a call is let in. */
public enum Check {
    /** The marks, which suffice. */
    LOCAL,
    /**
     * The lock service first, then the marks: refuses a call whose lease has ended although nobody came after it. Costs a
     * round trip for each call, and refuses all while the lock service cannot be reached.
     */
    ONLINE
}
