package dev.palisade.faults;

import dev.palisade.check.Marks;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.scenario.Gatekeeper;
import dev.palisade.scenario.Installation.Service;
import java.io.IOException;
import java.sql.SQLException;

/**
 * Service that clients write to, as a whole: a storage that guards itself, or one behind a guard. One thread uses
 * it.
 */
interface Front extends AutoCloseable {
    /** Before the first client: the lock server, whose address stays. */
    default void locksAt(Service server) {}

    /** Where a client calls; another one for the next client perhaps. Its address stays. */
    Service service();

    /** kill -9 of the process that keeps the marks, and a restart on the same marks, with {@code between} in between. */
    void restart(Runnable between);

    /** The marks as they are kept; while nobody has them open. */
    Marks marks(String when) throws IOException, SQLException;

    /** A fault that only this front can have. */
    default void suffer(Fault fault, Gatekeeper gatekeeper) {
        throw new IllegalArgumentException(fault + " cannot happen here");
    }

    /** In order. */
    void stop();

    @Override
    void close();
}
