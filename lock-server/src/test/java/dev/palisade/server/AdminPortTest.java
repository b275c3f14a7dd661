package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What strangers send to the admin port, byte by byte. */
class AdminPortTest {
    private static final long NEVER_MILLIS = 60_000;

    @TempDir
    Path folder;

    private AdminServed admin;

    @BeforeEach
    void open() throws Exception {
        admin = new AdminServed(folder.resolve("locks"), null);
    }

    private void reopen(long connectionMillis) throws Exception {
        admin.close();
        admin = new AdminServed(folder.resolve("again"), null, new AdminPort.Times(connectionMillis, 1_000));
    }

    @AfterEach
    void close() throws IOException {
        admin.close();
    }

    private String asked(String request) throws IOException {
        return admin.asked(request);
    }

    private static String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    }

    @Test
    void thePathsOfMonitoringAreServedAndNoOther() throws Exception {
        assertThat(asked(get("/metrics"))).startsWith("HTTP/1.1 200 ").contains("text/plain; version=0.0.4", "jvm_");
        assertThat(asked(get("/metrics?name=x"))).startsWith("HTTP/1.1 200 ");
        assertThat(asked(get("/health/live"))).startsWith("HTTP/1.1 200 ").endsWith("\r\n\r\nlive\n");
        assertThat(asked(get("/health/ready"))).startsWith("HTTP/1.1 200 ");
        admin.unready.set(Optional.of("this lock server is a standby; a.example:7600 is active"));
        assertThat(asked(get("/health/ready")))
                .startsWith("HTTP/1.1 503 ")
                .endsWith("\r\n\r\nnot ready: this lock server is a standby; a.example:7600 is active\n");
        assertThat(asked(get("/health/live"))).startsWith("HTTP/1.1 200 ");
        for (String path : List.of(
                "/metrics/",
                "/page/",
                "/page/../page/main.js",
                "/page/index.html",
                "/Metrics",
                "//metrics",
                "/health/../metrics",
                "*")) {
            assertThat(asked(get(path))).as(path).startsWith("HTTP/1.1 404 ");
        }
    }

    @Test
    void otherMethodsAreRefusedWhenTheirBodyWasRead() throws Exception {
        String body = "x".repeat(100_000);
        assertThat(asked("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length() + "\r\n\r\n"
                        + body))
                .startsWith("HTTP/1.1 405 ")
                .contains("allow: GET, HEAD");
        assertThat(asked("DELETE /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"))
                .startsWith("HTTP/1.1 405 ");
        assertThat(asked("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ")
                .endsWith("\r\n\r\n");
    }

    /** Another site can make its own name lead here, and read what a browser gets. */
    @Test
    void metricsAreServedUnderAnAddressOrLocalhostOnly() throws Exception {
        for (String host : List.of("127.0.0.1:7601", "localhost", "[::1]:7601")) {
            assertThat(asked("GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n"))
                    .as(host)
                    .startsWith("HTTP/1.1 200 ");
        }
        assertThat(asked("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
                .startsWith("HTTP/1.1 421 ")
                .doesNotContain("jvm_");
        assertThat(asked("GET /metrics HTTP/1.1\r\n\r\n")).startsWith("HTTP/1.1 400 ");
        assertThat(asked("GET /health/live HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
                .as("a probe may use any name")
                .startsWith("HTTP/1.1 200 ");
    }

    @Test
    void clientThatWaitsFor100ContinueGetsIt() throws Exception {
        Socket socket = admin.connected();
        socket.getOutputStream()
                .write("POST /metrics HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
                        .getBytes(StandardCharsets.ISO_8859_1));
        String first = "HTTP/1.1 100 Continue\r\n";
        assertThat(new String(socket.getInputStream().readNBytes(first.length()), StandardCharsets.ISO_8859_1))
                .isEqualTo(first);
        socket.getOutputStream().write('x');
        assertThat(AdminServed.rest(socket)).contains("HTTP/1.1 405 ");
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
        reopen(200);
        Socket slow = admin.connected();
        slow.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost:".getBytes(StandardCharsets.ISO_8859_1));
        assertThat(AdminServed.rest(slow)).isEmpty();
    }

    @Test
    void oldestConnectionWithoutARequestMakesRoom() throws Exception {
        reopen(NEVER_MILLIS);
        List<Socket> silent = new ArrayList<>();
        for (int i = 0; i < AdminPort.CONNECTIONS_MAX; i++) {
            silent.add(admin.connected());
        }
        silent.get(0).getOutputStream().write("GET /health/live".getBytes(StandardCharsets.ISO_8859_1));
        assertThat(asked(get("/health/live"))).startsWith("HTTP/1.1 200 ");
        assertThat(silent.get(0).getInputStream().read()).as("the oldest").isEqualTo(-1);
        silent.get(1).getOutputStream().write(get("/health/live").getBytes(StandardCharsets.ISO_8859_1));
        assertThat(AdminServed.rest(silent.get(1))).as("the next").startsWith("HTTP/1.1 200 ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "127.0.0.1"})
    void addressIsShownAsConfigured(String host) throws Exception {
        try (AdminPort port = admin.open(new InetSocketAddress(host, 0))) {
            assertThat(port.shown()).isEqualTo("http://" + host + ":" + port.port());
        }
    }

    @Test
    void aTakenPortIsToldInOneLine() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() ->
                            admin.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), taken.getLocalPort())))
                    .isInstanceOf(CannotStart.class)
                    .hasMessageContaining("--admin-host and --admin-port");
        }
    }
}
