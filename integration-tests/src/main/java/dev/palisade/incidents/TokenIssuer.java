package dev.palisade.incidents;

/**
 * Client of a token-issuing lock, in one application process: the common interface of Palisade and the libraries that
 * are compared. It never checks tokens. Safe for several threads.
 */
interface TokenIssuer extends AutoCloseable {
    /**
     * Makes one attempt, without waiting for a holder.
     *
     * @param owner unique name of the attempt
     */
    AttemptOutcome acquire(String lock, String owner) throws InterruptedException;

    /** Releases the lock of {@link #acquire} on the same thread, if possible. */
    void release(String lock, String owner);

    /** Switches to a new primary, like a notification of a sentinel. */
    void follow(Node primary);

    /** Cuts the issuer off from primary discovery until the next {@link #follow}. */
    default void stopFollowing() {}

    /** The counter of a lock's tokens. Only tokens of one counter are compared. */
    String counter(String lock);

    /** SIGSTOP of its own process, if it has one. */
    default void pause() {}

    /** SIGCONT. */
    default void resume() {}

    @Override
    void close();
}
