package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.server.metrics.ServerMetrics;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What strangers send to the admin port, byte by byte. */
class AdminPortTest {
    private static final int READ_MILLIS_MAX = 60_000;

    private final ServerMetrics metrics = new ServerMetrics();
    private final AtomicBoolean ready = new AtomicBoolean(true);
    private final List<Socket> sockets = new ArrayList<>();
    private AdminPort port;

    @BeforeEach
    void open() throws CannotStart {
        port = opened(AdminPort.CONNECTION_MILLIS);
    }

    private AdminPort opened(long connectionMillis) throws CannotStart {
        return AdminPort.open(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                null,
                null,
                metrics,
                ready::get,
                connectionMillis);
    }

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        port.close();
        metrics.close();
    }

    private Socket connected() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port.port());
        socket.setSoTimeout(READ_MILLIS_MAX);
        sockets.add(socket);
        return socket;
    }

    /** The whole response: the server ends the connection after it. */
    private String asked(String request) throws IOException {
        Socket socket = connected();
        socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
        return rest(socket);
    }

    private static String rest(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }

    private static String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: palisade\r\n\r\n";
    }

    @Test
    void theThreePathsAreServedAndNoOther() throws Exception {
        assertThat(asked(get("/metrics"))).startsWith("HTTP/1.1 200 ").contains("text/plain; version=0.0.4", "jvm_");
        assertThat(asked(get("/metrics?name=x"))).startsWith("HTTP/1.1 200 ");
        assertThat(asked(get("/health/live"))).startsWith("HTTP/1.1 200 ").endsWith("\r\n\r\nlive\n");
        assertThat(asked(get("/health/ready"))).startsWith("HTTP/1.1 200 ");
        ready.set(false);
        assertThat(asked(get("/health/ready"))).startsWith("HTTP/1.1 503 ");
        assertThat(asked(get("/health/live"))).startsWith("HTTP/1.1 200 ");
        for (String path : List.of("/", "/metrics/", "/Metrics", "//metrics", "/health/../metrics", "*")) {
            assertThat(asked(get(path))).as(path).startsWith("HTTP/1.1 404 ");
        }
    }

    @Test
    void otherMethodsAreRefusedWhenTheirBodyWasRead() throws Exception {
        String body = "x".repeat(100_000);
        assertThat(asked("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: " + body.length() + "\r\n\r\n" + body))
                .startsWith("HTTP/1.1 405 ")
                .contains("allow: GET, HEAD");
        assertThat(asked("DELETE /health/live HTTP/1.1\r\nHost: a\r\n\r\n")).startsWith("HTTP/1.1 405 ");
        assertThat(asked("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ")
                .endsWith("\r\n\r\n");
    }

    @Test
    void aConnectionHasOneRequest() throws Exception {
        assertThat(asked(get("/health/live") + get("/health/live")).split("HTTP/1.1 200 ", -1))
                .hasSize(2);
    }

    @Test
    void longAndMalformedRequestsAreRefused() throws Exception {
        assertThat(asked(get("/" + "x".repeat(AdminPort.LINE_BYTES_MAX)))).startsWith("HTTP/1.1 414 ");
        assertThat(asked("GET /metrics HTTP/1.1\r\nA: " + "x".repeat(AdminPort.HEADER_BYTES_MAX) + "\r\n\r\n"))
                .startsWith("HTTP/1.1 431 ");
        assertThat(asked("\0\1\2\r\n\r\n")).startsWith("HTTP/1.1 400 ");
    }

    @Test
    void aClientThatDoesNotFinishItsRequestIsCutOff() throws Exception {
        port.close();
        port = opened(200);
        Socket slow = connected();
        slow.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost:".getBytes(StandardCharsets.ISO_8859_1));
        assertThat(rest(slow)).isEmpty();
    }

    @Test
    void connectionsAreBoundedAndMakeRoomWhenTheyEnd() throws Exception {
        port.close();
        port = opened(READ_MILLIS_MAX);
        List<Socket> silent = new ArrayList<>();
        for (int i = 0; i < AdminPort.CONNECTIONS_MAX; i++) {
            silent.add(connected());
        }
        // The last of them is served, so all before it were accepted.
        silent.get(AdminPort.CONNECTIONS_MAX - 1)
                .getOutputStream()
                .write("GET /".getBytes(StandardCharsets.ISO_8859_1));
        Socket surplus = connected();
        assertThat(surplus.getInputStream().read()).isEqualTo(-1);
        silent.get(0).close();
        await().until(() -> isServed());
    }

    private boolean isServed() {
        try {
            return asked(get("/health/live")).startsWith("HTTP/1.1 200 ");
        } catch (IOException e) {
            return false; // Reset, because it was one too many.
        }
    }

    @Test
    void aTakenPortIsToldInOneLine() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() -> AdminPort.open(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), taken.getLocalPort()),
                            null,
                            null,
                            metrics,
                            ready::get))
                    .isInstanceOf(CannotStart.class)
                    .hasMessageContaining("--admin-host and --admin-port");
        }
    }
}
