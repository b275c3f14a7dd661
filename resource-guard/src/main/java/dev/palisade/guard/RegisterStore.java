package dev.palisade.guard;

import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Consumer;

/** The place of a register that several guards share: atomic steps on its rows. Safe for use by many threads; blocks. */
interface RegisterStore {
    /** One atomic step. May run more than once, each time on the rows as they are then; only the last run counts. */
    interface Work<T> {
        T in(RegisterRows rows) throws SQLException;
    }

    /**
     * What a guard found when it joined.
     *
     * @param marksId {@link MarkStore#id}
     * @param empty whether there was neither a mark nor a base mark
     */
    record Joined(KeptMarks kept, String marksId, RegisterRows.State state, boolean empty) {}

    /** A step failed. */
    final class FailedException extends Exception {
        private static final long serialVersionUID = 1L;

        private final boolean unknown;

        FailedException(Throwable cause, boolean unknown) {
            super(Unavailable.oneLine(cause), cause);
            this.unknown = unknown;
        }

        /** Whether it may have happened all the same; otherwise it certainly has not. */
        boolean isUnknown() {
            return unknown;
        }

        boolean violatesConstraint() {
            return getCause() instanceof SQLException cause && SqlFailure.of(cause) == SqlFailure.CONSTRAINT;
        }
    }

    /**
     * Makes the register unless it is there, and a row for this guard. Called once, first.
     *
     * @param left called with the names of resources that calls of any guard have left, while this guard waits there. Best effort,
     *     behind it is a poll; must not block
     * @throws dev.palisade.contract.RejectedException MARK_UNAVAILABLE
     */
    Joined join(SharedRegister.Member member, long leaseMillis, Consumer<String> left);

    /** The identity under which this guard is in the register; another one after {@link #join} was repeated by the store itself. */
    String guard();

    <T> T transact(Work<T> work) throws FailedException;

    /** Ends announcements. */
    void close();

    /** Why this guard can never use the register again; empty: it can. */
    default Optional<String> end() {
        return Optional.empty();
    }

    /** What an operator runs to end all calls of a guard. */
    String commandToEnd(String guard);
}
