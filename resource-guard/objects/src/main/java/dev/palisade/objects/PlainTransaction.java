package dev.palisade.objects;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.FencedJdbc.Work;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import javax.sql.DataSource;

/** A transaction without a fence: unfenced reads, and everything while the guard is off. Never touches a mark. */
final class PlainTransaction {
    private static final int RUNS_MAX = 10;

    private PlainTransaction() {}

    /** Runs {@code work} again when another one inserted the same key at the same time. */
    static <T> T run(DataSource dataSource, Work<T> work) throws SQLException {
        for (int run = 1; ; run++) {
            try (Connection connection = dataSource.getConnection()) {
                return once(connection, work);
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                boolean worthAnother = state.startsWith("23") || state.equals("40001") || state.equals("40P01");
                if (!worthAnother || run == RUNS_MAX) {
                    throw e;
                }
            }
        }
    }

    private static <T> T once(Connection connection, Work<T> work) throws SQLException {
        connection.setAutoCommit(false);
        boolean ended = false;
        try {
            T result = work.run(connection);
            commit(connection);
            ended = true;
            return result;
        } finally {
            returnConnection(connection, ended);
        }
    }

    /** Never throws: what happened before is what counts. */
    private static void returnConnection(Connection connection, boolean ended) {
        try {
            if (!ended) {
                connection.rollback();
            }
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            // The pool drops a connection that fails like this.
        }
    }

    private static void commit(Connection connection) throws SQLException {
        try {
            connection.commit();
        } catch (SQLException e) {
            if (String.valueOf(e.getSQLState()).startsWith("40")) {
                throw e;
            }
            throw new Rejection(
                            Reason.OUTCOME_UNKNOWN,
                            "the commit got no answer; it may or may not be applied: read again",
                            Map.of(Rejection.APPLIED, "unknown"))
                    .asException();
        }
    }
}
