package dev.palisade.server.access;

/** Source that is read again while the process runs: a file or a URL. */
interface Reloadable {
    /** For messages. */
    String source();

    /**
     * Reads again what is due. For one thread, every second or so.
     *
     * @return whether the value is a new one
     * @throws FileMistakes once for each state of the source that cannot be used
     */
    boolean reload() throws FileMistakes;

    /** Whether the last {@link #reload} found what is in use. For all threads. */
    boolean isUsable();

    /** Ends each mistake: how long the last good value stays in use. */
    String keeps();
}
