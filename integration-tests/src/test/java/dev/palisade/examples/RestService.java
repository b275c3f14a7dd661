package dev.palisade.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import dev.palisade.guard.FencedJdbc;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** The service's half of the guide for REST, on the JDK's own HTTP server: {@code PUT /orders/42}. */
final class RestService {
    private final FencedJdbc fenced;

    RestService(FencedJdbc fenced) {
        this.fenced = fenced;
    }

    // snippet
    void put(HttpExchange exchange) throws IOException {
        String order = exchange.getRequestURI().getPath().substring("/orders/".length());
        String status = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
        try {
            SignedSequencer sequencer = sequencer(exchange);
            fenced.write(sequencer, Binding.of("orders/" + order), connection -> update(connection, order, status));
            reply(exchange, 200, "");
        } catch (RejectedException e) {
            reply(exchange, httpStatus(e.reason()), e.rejection().message());
        } catch (SQLException e) {
            reply(exchange, 503, "the database failed; nothing was applied");
        }
    }

    private static SignedSequencer sequencer(HttpExchange exchange) {
        String text = exchange.getRequestHeaders().getFirst("Fencing-Sequencer");
        if (text == null) {
            throw new Rejection(Reason.SEQUENCER_MISSING, "send the lease's sequencer as Fencing-Sequencer")
                    .asException();
        }
        return SignedSequencer.ofText(text);
    }

    static int httpStatus(Reason reason) {
        return switch (reason) {
            case MALFORMED_REQUEST -> 400;
            case SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED -> 403;
            case TOKEN_STALE -> 409;
            case SEQUENCER_MISSING -> 428;
            case OUTCOME_UNKNOWN -> 500;
            case DRAINING, MARK_UNAVAILABLE, STORE_UNAVAILABLE -> 503; // not applied, try again
            default -> 500; // reasons of a lock server: FencedJdbc has none of them
        };
    }
    // end

    private static int update(Connection connection, String order, String status) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement("UPDATE orders SET status = ? WHERE id = ?")) {
            update.setString(1, status);
            update.setLong(2, Long.parseLong(order));
            return update.executeUpdate();
        }
    }

    private static void reply(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(UTF_8);
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
