package dev.palisade.server.store.postgresql;

import dev.palisade.server.store.log.LogFailure;
import java.io.IOException;
import java.net.ConnectException;
import java.sql.SQLException;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** Classification of failed statements: refused, or of unknown outcome. */
final class PostgresFailure {
    /** Shutdowns and internal errors: they may come after the commit. */
    private static final String OPERATOR = "57P";

    private static final String INTERNAL = "XX";
    private static final String CONNECTION = "08";
    /** No such table, and no such column. */
    private static final Set<String> UNDEFINED = Set.of("42P01", "42703");

    private PostgresFailure() {}

    /** @param alive whether the connection still is: an error of PostgreSQL then means that the statement was rolled back */
    static LogFailure of(String name, SQLException e, boolean alive) {
        String line = name + ": " + line(e);
        return alive && isError(e) ? LogFailure.refused(line) : LogFailure.unknown(line);
    }

    /** Whether the tables are not such that a log can be kept in them. */
    static boolean isUnusable(SQLException e) {
        return isError(e) && UNDEFINED.contains(state(e));
    }

    /** Whether the user lacks a right. */
    static boolean isRight(SQLException e) {
        return state(e).equals("42501");
    }

    private static boolean isError(SQLException e) {
        String state = state(e);
        return e instanceof PSQLException error
                && error.getServerErrorMessage() != null
                && !state.startsWith(CONNECTION)
                && !state.startsWith(OPERATOR)
                && !state.startsWith(INTERNAL);
    }

    private static String state(SQLException e) {
        return String.valueOf(e.getSQLState());
    }

    /** One line, without the statement. What the network did is in the driver's cause only. */
    static String line(SQLException e) {
        ServerErrorMessage server = e instanceof PSQLException error ? error.getServerErrorMessage() : null;
        if (server != null) {
            return firstLine(server.getMessage());
        }
        String line = firstLine(e.getMessage());
        return e.getCause() instanceof IOException cause && !(cause instanceof ConnectException)
                ? line + " (" + firstLine(cause.toString()) + ")"
                : line;
    }

    private static String firstLine(@Nullable String message) {
        return String.valueOf(message).lines().findFirst().orElse("").strip();
    }
}
