package dev.palisade.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.FencedJdbc;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Both halves of the guide for REST, over HTTP on loopback. */
class RestExampleTest {
    @Test
    void lateCallIsRefusedWithTheStatusOfTheGuide(@TempDir Path directory) throws Exception {
        JdbcDataSource dataSource = new JdbcDataSource();
        dataSource.setUrl("jdbc:h2:" + directory.resolve("orders"));
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, status VARCHAR(20))");
            statement.execute("INSERT INTO orders VALUES (42, 'new')");
        }
        KeysetFile keys = KeysetFile.openOrCreate(directory.resolve("keys.json"));
        FencedJdbc fenced = FencedJdbc.create(dataSource, keys.verifier("palisade"));
        fenced.createTable();
        RestService service = new RestService(fenced);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/orders/", service::put);
        server.start();
        try {
            URI order = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/orders/42");
            RestCaller caller = new RestCaller();
            assertThat(caller.setStatus(order, "paid", signed(keys, 34)).statusCode())
                    .isEqualTo(200);
            assertThat(caller.setStatus(order, "late", signed(keys, 33)).statusCode())
                    .isEqualTo(409);
            HttpRequest bare = HttpRequest.newBuilder(order)
                    .PUT(BodyPublishers.ofString("bare"))
                    .build();
            assertThat(HttpClient.newHttpClient()
                            .send(bare, BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(428);
        } finally {
            server.stop(0);
        }
    }

    @Test
    void guideListsTheStatusOfEveryReasonOfTheGuard() throws Exception {
        String guide = Files.readString(Path.of(System.getProperty("palisade.root"), "docs/guides/rest.md"));
        Map<String, Integer> expected = Stream.of(
                        Reason.MALFORMED_REQUEST,
                        Reason.SEQUENCER_MISSING,
                        Reason.SEQUENCER_INVALID,
                        Reason.WRONG_RESOURCE,
                        Reason.MODE_NOT_ALLOWED,
                        Reason.TOKEN_STALE,
                        Reason.DRAINING,
                        Reason.MARK_UNAVAILABLE,
                        Reason.STORE_UNAVAILABLE,
                        Reason.OUTCOME_UNKNOWN)
                .collect(Collectors.toMap(Reason::name, RestService::httpStatus));
        expected.forEach((reason, status) ->
                assertThat(guide).containsPattern("\\| " + status + "[^|]*\\|[^|]*\\b" + reason + "\\b"));
        assertThat(RestService.httpStatus(Reason.QUEUE_FULL))
                .as("not to be tried again")
                .isEqualTo(500);
    }

    private static SignedSequencer signed(KeysetFile keys, long token) {
        return keys.sign(new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(7, token),
                0));
    }
}
