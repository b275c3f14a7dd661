package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import java.sql.Connection;
import java.sql.SQLException;

/**
 * A check that was passed inside a transaction. Good for that transaction only; holds nothing itself, the database does.
 * Immutable; use it on the thread that uses the transaction.
 */
public final class Fence {
    private final FenceTable table;
    private final FenceCounters counters;
    private final Sequencer sequencer;
    private final String resource;
    private final long number;

    /** @param number the row's, as the check left it */
    Fence(FenceTable table, FenceCounters counters, Sequencer sequencer, String resource, long number) {
        this.table = table;
        this.counters = counters;
        this.sequencer = sequencer;
        this.resource = resource;
        this.number = number;
    }

    /** The verified sequencer that was admitted. */
    public Sequencer sequencer() {
        return sequencer;
    }

    /**
     * Asks, as the last statement before the commit, whether the mark still stands as the check left it. It does not when
     * the transaction was rolled back to a savepoint older than the check, or ended in between: by DDL, or by an error that
     * made the database roll back and that was ignored. Nor does it when the same resource was checked again in this
     * transaction: confirm the last check.
     *
     * @throws dev.palisade.contract.RejectedException OUTCOME_UNKNOWN: roll back, and find out what an earlier end of the
     *     transaction left behind
     */
    public void confirm(Connection connection) throws SQLException {
        if (table.standing(connection, resource, sequencer) != number) {
            throw counters.refused(FenceRejections.checkLost(resource));
        }
    }
}
