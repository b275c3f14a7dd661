package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two gateways in front of one service, with one register; each has its own connections and memory. */
@Execution(ExecutionMode.CONCURRENT)
class SeveralGatewaysOnPostgresTest {
    private static EmbeddedPostgres postgres;

    private static final AtomicInteger DATABASES = new AtomicInteger();

    private final String database = "marks" + DATABASES.incrementAndGet();
    private final TestLocks locks = new TestLocks();
    private final PlainService service = new PlainService();
    private final HttpClient http = HttpClient.newHttpClient();
    private Gateway one;
    private Gateway two;

    @BeforeAll
    static void startDatabase() throws IOException {
        // Marks rest on commits; the library's own default is to lose them.
        postgres = PatientPostgres.builder()
                .setServerConfig("synchronous_commit", "on")
                .start();
    }

    @AfterAll
    static void stopDatabase() throws IOException {
        postgres.close();
    }

    @BeforeEach
    void start(@TempDir Path directory) throws Exception {
        try (var connection = postgres.getPostgresDatabase().getConnection();
                var statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + database);
        }
        Path file = Files.writeString(
                directory.resolve("gateway.yaml"),
                "listen: 127.0.0.1:0\nprotects: items\nregister:\n  jdbc-url: "
                        + postgres.getJdbcUrl("postgres", database)
                        + "\n  user: postgres\nupstream:\n  addresses: " + service.address() + "\n"
                        + GatewayFixture.ROUTES);
        assertThat(Main.run("init", file.toString())).isZero();
        GatewayConfig config = ConfigFile.read(file.toString());
        one = Gateway.start(config, locks.verifier(), locks);
        two = Gateway.start(config, locks.verifier(), locks);
    }

    @AfterEach
    void stop() throws Exception {
        one.close();
        two.close();
        service.close();
    }

    @Test
    void aTokenThatOnlyOneHasSeenIsStaleAtTheOther() throws Exception {
        assertThat(put(one, 7, "first").statusCode()).isEqualTo(200);
        assertThat(put(two, 8, "second").statusCode()).isEqualTo(200);
        assertThat(put(one, 7, "late").statusCode()).isEqualTo(409);
        assertThat(service.contents).containsValue("second").hasSize(1);
    }

    @Test
    void aNewerGrantWaitsForARequestThatRunsThroughTheOther() throws Exception {
        CompletableFuture<Void> mayEnd = service.hold();
        CompletableFuture<HttpResponse<String>> first = putAsync(one, 7, "first");
        Awaitility.await().until(() -> service.begun.size() == 1);
        CompletableFuture<HttpResponse<String>> second = putAsync(two, 8, "second");
        Awaitility.await().until(() -> holdsMark(8));
        assertThat(service.begun).hasSize(1);
        mayEnd.complete(null);
        assertThat(first.join().statusCode()).isEqualTo(200);
        assertThat(second.join().statusCode()).isEqualTo(200);
        assertThat(service.contents).containsValue("second").hasSize(1);
    }

    /** Otherwise the holder's next request, to the other one, would be admitted beside the one that may still be applied. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theClientHearsOfAnUnknownOutcomeOnceTheOtherKeepsItsNextRequestOut(boolean says504) throws Exception {
        HttpResponseWriter answer = com.linecorp.armeria.common.HttpResponse.streaming();
        service.handler = (context, request) -> answer;
        CompletableFuture<Integer> first =
                putAsync(one, 7, "first").handle((response, brokenOff) -> response == null ? 0 : response.statusCode());
        Awaitility.await().until(() -> service.begun.size() == 1);
        try (var connection = postgres.getDatabase("postgres", database).getConnection();
                var statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("SELECT * FROM palisade_register_calls FOR UPDATE");
            if (says504) {
                answer.write(ResponseHeaders.of(HttpStatus.GATEWAY_TIMEOUT));
                answer.close();
            } else {
                answer.write(ResponseHeaders.of(HttpStatus.OK));
                answer.close(new IllegalStateException("broken off"));
            }
            Awaitility.await().until(() -> number("SELECT COUNT(*) FROM pg_locks WHERE NOT granted") > 0);
            assertThat(first).isNotDone();
            connection.rollback();
        }
        assertThat(first).succeedsWithin(Duration.ofMinutes(1)).isEqualTo(says504 ? 504 : 0);
        assertThat(number("SELECT COUNT(*) FROM palisade_register_calls WHERE quarantined"))
                .isEqualTo(1);
    }

    /** The pool opens its connections one after the other. */
    @Test
    void connectionThatFreezesAtItsLoginKeepsNoOtherOut() throws Exception {
        try (ServerSocket relay = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                var connection = postgres.getPostgresDatabase().getConnection();
                var statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE empty");
            CompletableFuture<Socket> frozen = CompletableFuture.supplyAsync(() -> accept(relay));
            var unused = frozen.thenAcceptAsync(first -> passOn(relay));
            try (OpenRegister register = new RegisterInPostgres(
                    "jdbc:postgresql://127.0.0.1:" + relay.getLocalPort() + "/empty?sslmode=disable&gssEncMode=disable",
                    "postgres",
                    "",
                    Duration.ofSeconds(2))) {
                register.createNeverUsed();
            } finally {
                frozen.join().close();
            }
        }
    }

    private static Socket accept(ServerSocket relay) {
        try {
            return relay.accept();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void passOn(ServerSocket relay) {
        while (!relay.isClosed()) {
            try {
                Socket client = relay.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), postgres.getPort());
                copy(client, server);
                copy(server, client);
            } catch (IOException e) {
                // Closed: the test is over.
            }
        }
    }

    private static void copy(Socket from, Socket to) {
        Thread thread = new Thread(() -> {
            try (from;
                    to) {
                from.getInputStream().transferTo(to.getOutputStream());
            } catch (IOException e) {
                // The other direction has closed both.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private long number(String sql) throws Exception {
        try (var connection = postgres.getDatabase("postgres", database).getConnection();
                var statement = connection.createStatement();
                var row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    private boolean holdsMark(long token) throws Exception {
        return number("SELECT COUNT(*) FROM palisade_marks WHERE x_token = " + token) == 1;
    }

    private HttpResponse<String> put(Gateway gateway, long token, String text)
            throws IOException, InterruptedException {
        return http.send(request(gateway, token, text), BodyHandlers.ofString());
    }

    private CompletableFuture<HttpResponse<String>> putAsync(Gateway gateway, long token, String text) {
        return http.sendAsync(request(gateway, token, text), BodyHandlers.ofString());
    }

    private HttpRequest request(Gateway gateway, long token, String text) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.port() + "/items/1"))
                .header("Fencing-Sequencer", locks.exclusive("items/1", token))
                .PUT(BodyPublishers.ofString(text))
                .build();
    }
}
