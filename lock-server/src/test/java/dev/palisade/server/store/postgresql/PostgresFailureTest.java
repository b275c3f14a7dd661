package dev.palisade.server.store.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.net.ConnectException;
import java.net.SocketException;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;

class PostgresFailureTest {
    private static final String SENDING = "An I/O error occurred while sending to the backend.";

    @Test
    void whatTheNetworkDidIsInTheLine() {
        assertThat(line(SENDING, new SocketException("Connection reset")))
                .isEqualTo(SENDING + " (java.net.SocketException: Connection reset)");
        assertThat(line(SENDING, new EOFException())).isEqualTo(SENDING + " (java.io.EOFException)");
    }

    @Test
    void refusedConnectionIsNamedOnce() {
        assertThat(line("Connection to db:5432 refused.", new ConnectException("Connection refused")))
                .isEqualTo("Connection to db:5432 refused.");
    }

    @Test
    void onlyTheFirstLineIsShown() {
        assertThat(PostgresFailure.line(new SQLException("first\nsecond"))).isEqualTo("first");
    }

    private static String line(String message, Exception cause) {
        return PostgresFailure.line(new PSQLException(message, PSQLState.CONNECTION_FAILURE, cause));
    }
}
