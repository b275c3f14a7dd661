package dev.palisade.incidents;

/**
 * Whoever issues tokens, as one application process has it: the port behind which all the compared are alike. Safe for several
 * threads. Never says who was right.
 */
interface TokenIssuer extends AutoCloseable {
    /**
     * One try, without waiting for whoever holds the lock.
     *
     * @param owner names the try; no other has this name
     */
    Answer acquire(String lock, String owner) throws InterruptedException;

    /** Gives back what {@link #acquire} gave, as well as it can. By the same thread. */
    void release(String lock, String owner);

    /** From now on that one is the primary, as a sentinel would tell. */
    void follow(Node primary);

    /** From now on, until it is told otherwise, it cannot find out who the primary is, and stays where it is. */
    default void cutOff() {}

    /** Which counter a lock's tokens come from: tokens of one counter are compared. */
    String counter(String lock);

    /** SIGSTOP of a process of its own, if it has one: what runs in the application is not stopped. */
    default void pause() {}

    /** SIGCONT. */
    default void resume() {}

    @Override
    void close();
}
