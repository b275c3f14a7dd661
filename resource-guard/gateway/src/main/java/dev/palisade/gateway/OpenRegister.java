package dev.palisade.gateway;

import dev.palisade.guard.MarkStore;

/** The connections of one gateway to the register that it shares with others. To be closed after the guard. */
interface OpenRegister extends AutoCloseable {
    /** For one guard. */
    MarkStore marks();

    /**
     * Makes a register under which nothing was ever guarded.
     *
     * @throws dev.palisade.contract.RejectedException MARK_UNAVAILABLE: there is one already, or it cannot be made
     */
    void createNeverUsed();

    @Override
    void close();
}
