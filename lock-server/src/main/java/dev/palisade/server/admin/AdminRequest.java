package dev.palisade.server.admin;

import java.net.SocketAddress;
import java.util.List;
import java.util.function.Function;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * HTTP request to the admin page or its API. Immutable if its headers are.
 *
 * @param method such as GET
 * @param target path and query as the client wrote them
 * @param headers all values of a header by its name in lower case; empty if there is none
 * @param body as text; empty if there is none
 * @param session of TLS; null for plaintext
 */
public record AdminRequest(
        String method,
        String target,
        Function<String, List<String>> headers,
        String body,
        @Nullable SSLSession session,
        @Nullable SocketAddress peer) {

    List<String> header(String name) {
        return headers.apply(name);
    }

    /** The path without the query, still encoded. */
    public String path() {
        return target.split("\\?", 2)[0];
    }

    /** The query, still encoded; empty if there is none. */
    String query() {
        String[] parts = target.split("\\?", 2);
        return parts.length == 2 ? parts[1] : "";
    }

    /** Whether the client wants the resource sent again each time that it changes. */
    boolean wantsEvents() {
        return method.equals("GET")
                && header("accept").stream().anyMatch(accepted -> accepted.contains("text/event-stream"));
    }
}
