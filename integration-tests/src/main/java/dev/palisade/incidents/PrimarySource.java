package dev.palisade.incidents;

/** Names the primary to one lock server, by the URI of its store. */
interface PrimarySource extends AutoCloseable {
    String uri();

    /** Announces a new primary. */
    void announce(String primary);

    /** Announces no primary until the next {@link #announce}. */
    void stopAnnouncing();

    /** Whether a lock server connects only to the announced primary. */
    boolean isBinding();

    @Override
    void close();
}
