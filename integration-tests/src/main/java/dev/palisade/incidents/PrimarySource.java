package dev.palisade.incidents;

/** The part of a lock server's store URI from which it learns who the primary is. */
interface PrimarySource extends AutoCloseable {
    String uri();

    /** From now on that address is the primary's. */
    void tell(String primary);

    /** From now on nobody is told who the primary is. */
    void silence();

    /** Whether a lock server goes to whom it is told only, and to nobody else. */
    boolean binds();

    @Override
    void close();
}
