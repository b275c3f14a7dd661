package dev.palisade.guard.storage;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What {@link FencedJdbc} runs inside the guarded transaction. May run several times, each time after a rollback, so it
 * must not do anything outside the transaction that cannot be repeated.
 */
@FunctionalInterface
public interface Work<T> {
    /**
     * @param connection the guarded transaction; committing, rolling back, closing it or switching autocommit is refused.
     *     Statements that commit by themselves (DDL on H2) must not be run on it.
     */
    T run(Connection connection) throws SQLException;
}
