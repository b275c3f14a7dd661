package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** TLS on both sides of a gateway, with real handshakes. */
@Execution(ExecutionMode.CONCURRENT)
class GatewayTlsTest {
    private static final TestAuthority AUTHORITY = TestAuthority.named("authority");
    private static final TestAuthority CLIENTS = TestAuthority.named("authority of clients");
    private static final TestAuthority STRANGERS = TestAuthority.named("authority of strangers");
    private static final TestCertificate WORKER = CLIENTS.client("worker");

    @TempDir
    Path directory;

    @BeforeEach
    void writeFiles() {
        TestCertificate server = AUTHORITY.server();
        server.writeCertificate(directory.resolve("gateway.pem"));
        server.writeKey(directory.resolve("gateway.key"));
        CLIENTS.write(directory.resolve("clients.pem"));
        AUTHORITY.write(directory.resolve("authority.pem"));
        STRANGERS.write(directory.resolve("strangers.pem"));
    }

    private static final String TLS = "tls:\n  cert: gateway.pem\n  key: gateway.key";

    @Test
    void requestsArriveByTlsAndNotInPlaintext() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture fixture = new GatewayFixture(directory, service, TLS)) {
            assertThat(put(fixture, client(null), 7).statusCode()).isEqualTo(200);
            assertThat(put(fixture, client(null), 6).statusCode()).isEqualTo(409);
            assertThatThrownBy(() -> fixture.put(8, "plain")).isInstanceOf(IOException.class);
            assertThat(service.applied).hasSize(1);
        }
    }

    /** With the same certificate, and for the same clients. */
    @Test
    void adminPortHasTheTlsOfTheGateway() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture fixture =
                        new GatewayFixture(directory, service, TLS, "  client-ca: clients.pem", "admin: 127.0.0.1:0")) {
            assertThat(metrics(fixture, client(WORKER)).body())
                    .contains("palisade_certificate_expiry_timestamp_seconds{listener=\"gateway\"} 1.")
                    .contains("palisade_unusable_files{file=\"tls_certificate\"} 0.0")
                    .contains("palisade_unusable_files{file=\"tls_client_ca\"} 0.0");
            assertRejected(fixture.adminPort(), null);
        }
    }

    @Test
    void headersOfHttp1AreCheckedBehindTls() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture fixture = new GatewayFixture(directory, service, TLS);
                Socket socket = AUTHORITY
                        .context(null)
                        .getSocketFactory()
                        .createSocket(InetAddress.getLoopbackAddress(), fixture.gateway.port())) {
            socket.setSoTimeout(60_000);
            String head = "PUT /items/1 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: "
                    + fixture.locks.exclusive("items/1", 7) + "\r\nContent-Length: 4\r\n";
            socket.getOutputStream().write((head + "\r\ntext").getBytes(StandardCharsets.US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 200 ");
            socket.getInputStream().readNBytes("stored 4".length());
            socket.getOutputStream().write((head + "Connection: Host\r\n\r\ntext").getBytes(StandardCharsets.US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 400 ");
        }
    }

    @Test
    void clientsOfAnotherAuthorityGetNoConnection() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture fixture = new GatewayFixture(directory, service, TLS, "  client-ca: clients.pem")) {
            assertThat(put(fixture, client(WORKER), 7).statusCode()).isEqualTo(200);
            assertRejected(fixture.gateway.port(), null);
            assertRejected(fixture.gateway.port(), STRANGERS.client("worker"));
            assertThat(service.applied).hasSize(1);
        }
    }

    /** On its open connection, and with the TLS session of it on a new one. */
    @Test
    void clientOfAnAuthorityThatIsGoneIsRefused() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture fixture =
                        new GatewayFixture(directory, service, TLS, "  client-ca: clients.pem", "admin: 127.0.0.1:0")) {
            HttpClient worker = client(WORKER);
            assertThat(put(fixture, worker, 7).statusCode()).isEqualTo(200);
            assertThat(metrics(fixture, worker).statusCode()).isEqualTo(200);
            STRANGERS.write(directory.resolve("clients.pem"));
            Awaitility.await().until(() -> put(fixture, worker, 7).statusCode() == 403);
            assertThat(metrics(fixture, worker).statusCode()).isEqualTo(401);
            assertThat(put(fixture, client(STRANGERS.client("worker")), 7).statusCode())
                    .isEqualTo(200);
            assertRejected(fixture.gateway.port(), WORKER);
        }
    }

    @Test
    void theServiceIsVerified() throws Exception {
        List<String> applied = new CopyOnWriteArrayList<>();
        HttpsServer service = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.setHttpsConfigurator(new HttpsConfigurator(AUTHORITY.context(AUTHORITY.server())));
        service.createContext("/", exchange -> {
            applied.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        service.start();
        String address = "127.0.0.1:" + service.getAddress().getPort();
        try (GatewayFixture trusting = fixture("one", address, "{ca: ../authority.pem}");
                GatewayFixture other = fixture("two", address, "{ca: ../strangers.pem}");
                GatewayFixture plain = fixture("three", address, null)) {
            assertThat(trusting.put(7, "first").statusCode()).isEqualTo(204);
            assertThat(other.put(8, "second").statusCode()).isIn(502, 503);
            assertThat(plain.put(9, "third").statusCode()).isNotEqualTo(204);
            assertThat(applied).containsExactly("first");
        } finally {
            service.stop(0);
        }
    }

    private GatewayFixture fixture(String name, String address, @Nullable String tls) throws IOException {
        Path own = java.nio.file.Files.createDirectory(directory.resolve(name));
        String protocol = tls == null ? "http1" : "http1\n  tls: " + tls;
        return new GatewayFixture(own, address, protocol, "30s");
    }

    /**
     * By a socket: {@link HttpClient} of JDK 17 sometimes waits forever, where the alert comes as it sends its request. With TLS 1.3
     * a client sees the alert only when it reads.
     */
    private static void assertRejected(int port, @Nullable TestCertificate own) throws IOException {
        try (Socket socket =
                AUTHORITY.context(own).getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(60_000);
            assertThatThrownBy(() -> {
                        socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                        assertThat(socket.getInputStream().read()).isEqualTo(-1);
                    })
                    .as("an alert, or a reset if it came before")
                    .isInstanceOf(IOException.class)
                    .isNotInstanceOf(SocketTimeoutException.class);
        }
    }

    private static HttpClient client(@Nullable TestCertificate own) {
        return HttpClient.newBuilder().sslContext(AUTHORITY.context(own)).build();
    }

    private static HttpResponse<String> metrics(GatewayFixture fixture, HttpClient client)
            throws IOException, InterruptedException {
        URI uri = URI.create("https://127.0.0.1:" + fixture.adminPort() + "/metrics");
        return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }

    private static HttpResponse<String> put(GatewayFixture fixture, HttpClient client, long token)
            throws IOException, InterruptedException {
        return client.send(
                HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + fixture.gateway.port() + "/items/1"))
                        .header("Fencing-Sequencer", fixture.locks.exclusive("items/1", token))
                        .PUT(BodyPublishers.ofString("text"))
                        .build(),
                BodyHandlers.ofString());
    }
}
