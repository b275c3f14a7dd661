package dev.palisade.gateway;

import static dev.palisade.gateway.GatewayFixture.problem;
import static dev.palisade.gateway.GatewayFixture.text;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How calls end: what the next holder has to wait for. */
class OutcomeTest {
    /** Short waits at the guard, and a timeout for unknown outcomes that no test reaches by accident. */
    private static final String[] QUARANTINE = {"lock-wait: 200ms", "unknown-outcome-timeout: 60s"};

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    /** A service that answers each connection's first request with fixed bytes and closes the connection. */
    private static final class CutService implements AutoCloseable {
        private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final List<String> begun = new CopyOnWriteArrayList<>();
        private volatile String answer;

        private CutService(String answer) throws IOException {
            this.answer = answer;
            Thread thread = new Thread(this::serve, "cut-service");
            thread.setDaemon(true);
            thread.start();
        }

        private void serve() {
            while (!listening.isClosed()) {
                try (Socket socket = listening.accept()) {
                    String head = head(socket.getInputStream());
                    begun.add(head.lines().findFirst().orElse(""));
                    socket.getOutputStream().write(answer.getBytes(US_ASCII));
                    socket.getOutputStream().flush();
                } catch (IOException e) {
                    // The next one.
                }
            }
        }

        String address() {
            return "127.0.0.1:" + listening.getLocalPort();
        }

        @Override
        public void close() throws IOException {
            listening.close();
        }
    }

    /** A message's head, through its empty line. */
    static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                break;
            }
            head.append((char) next);
        }
        return head.toString();
    }

    private static void assertQuarantined(GatewayFixture gateway, long token) throws Exception {
        HttpResponse<String> newer = gateway.putWithKnownMarks(token, "newer");
        assertThat(newer.statusCode()).as(newer.body()).isEqualTo(503);
        assertThat(text(problem(newer), "reason")).isEqualTo("DRAINING");
        assertThat(text(problem(newer), "applied")).isEqualTo("no");
        assertThat(newer.headers().firstValue("retry-after")).hasValue("1");
    }

    @Test
    void serviceThatBreaksOffBeforeItAnswersLeavesTheOutcomeUnknown() throws Exception {
        try (CutService service = new CutService("");
                GatewayFixture gateway = new GatewayFixture(directory, service.address(), "http1", "30s", QUARANTINE)) {
            HttpResponse<String> broken = gateway.putAdmitted(33, "x");
            assertThat(broken.statusCode()).isEqualTo(502);
            assertThat(text(problem(broken), "reason")).isEqualTo("OUTCOME_UNKNOWN");
            assertThat(text(problem(broken), "applied")).isEqualTo("unknown");
            assertQuarantined(gateway, 34);
            assertThat(service.begun).hasSize(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nha"
            })
    void serviceCutInMidBodyLeavesTheOutcomeUnknown(String answer) throws Exception {
        try (CutService service = new CutService(answer);
                GatewayFixture gateway = new GatewayFixture(directory, service.address(), "http1", "30s", QUARANTINE)) {
            assertThatThrownBy(() -> gateway.putAdmitted(33, "x")).isInstanceOf(IOException.class);
            assertQuarantined(gateway, 34);
            assertThat(service.begun).hasSize(1);
        }
    }

    @Test
    void quarantineEndsAfterTheTimeoutForUnknownOutcomes() throws Exception {
        try (CutService service = new CutService("");
                GatewayFixture gateway = new GatewayFixture(
                        directory, service.address(), "http1", "1s", "unknown-outcome-timeout: 1s", "lock-wait: 60s")) {
            long began = System.nanoTime();
            assertThat(gateway.putAdmitted(33, "x").statusCode()).isEqualTo(502);
            service.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            assertThat(gateway.putAdmitted(34, "newer").statusCode()).isEqualTo(200);
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
        }
    }

    @Test
    void silentServiceIsGivenUpAndTheOutcomeIsUnknown() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway =
                        new GatewayFixture(directory, service.address(), "http1", "300ms", QUARANTINE)) {
            var unused = service.hold();
            HttpResponse<String> late = gateway.putAdmitted(33, "x");
            assertThat(late.statusCode()).isEqualTo(504);
            assertThat(text(problem(late), "applied")).isEqualTo("unknown");
            assertQuarantined(gateway, 34);
            assertThat(service.begun).hasSize(1);
        }
    }

    /** What a proxy in front of the service, or the service itself, says of work that may still go on. */
    @Test
    void statusSaysWhetherTheCallHasEnded() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(directory, service, QUARANTINE)) {
            service.handler = (context, request) -> com.linecorp.armeria.common.HttpResponse.of(request.aggregate()
                    .thenApply(whole -> com.linecorp.armeria.common.HttpResponse.of(
                            HttpStatus.valueOf(Integer.parseInt(whole.contentUtf8())))));
            long token = 33;
            for (String status : List.of("200", "204", "304", "404", "500", "202")) {
                assertThat(gateway.putAdmitted(token++, status).statusCode()).hasToString(status);
            }
            assertQuarantined(gateway, token);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"408", "502", "503", "504"})
    void statusOfAProxyOrLibraryLeavesTheOutcomeUnknown(String status) throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(directory, service, QUARANTINE)) {
            service.handler = (context, request) -> com.linecorp.armeria.common.HttpResponse.of(request.aggregate()
                    .thenApply(whole -> com.linecorp.armeria.common.HttpResponse.of(
                            HttpStatus.valueOf(Integer.parseInt(status)), MediaType.JSON, "{}")));
            assertThat(gateway.putAdmitted(33, "x").statusCode()).hasToString(status);
            assertQuarantined(gateway, 34);
        }
    }

    /** Python's gRPC takes a call of any content type, and its status comes while the handler may go on. */
    @Test
    void statusOfGrpcDecidesWhateverTheContentTypeOfTheCall() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(directory, service.address(), "http2", "30s", QUARANTINE)) {
            service.handler = (context, request) -> com.linecorp.armeria.common.HttpResponse.of(request.aggregate()
                    .thenApply(whole -> com.linecorp.armeria.common.HttpResponse.of(
                            com.linecorp.armeria.common.ResponseHeaders.of(HttpStatus.OK),
                            HttpData.empty(),
                            com.linecorp.armeria.common.HttpHeaders.of("grpc-status", whole.contentUtf8()))));
            assertThat(gateway.putAdmitted(33, "0").statusCode()).isEqualTo(200);
            assertThat(gateway.putAdmitted(34, "4").statusCode()).isEqualTo(200);
            assertQuarantined(gateway, 35);
        }
    }

    /** Its body is never sent, and the client's side cancels it early; that is no reason for a quarantine. */
    @ParameterizedTest
    @ValueSource(strings = {"http1", "http2"})
    void headRequestHasEndedWithItsHeaders(String protocol) throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway =
                        new GatewayFixture(directory, service.address(), protocol, "30s", QUARANTINE)) {
            service.contents.put("/items/1", "content");
            assertThat(gateway.send(gateway.request(33).method("HEAD", BodyPublishers.noBody()))
                            .statusCode())
                    .isEqualTo(200);
            assertThat(gateway.putAdmitted(34, "newer").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void refusedConnectionIsNotAppliedAndDelaysNobody() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(
                        directory, "[127.0.0.1:" + port + ", " + service.address() + "]", "http1", "30s", QUARANTINE)) {
            HttpResponse<String> refused = gateway.putAdmitted(33, "x");
            assertThat(refused.statusCode()).isEqualTo(503);
            assertThat(text(problem(refused), "applied")).isEqualTo("no");
            assertThat(refused.headers().firstValue("retry-after")).hasValue("1");
            assertThat(gateway.putAdmitted(34, "newer").statusCode())
                    .as("the other instance")
                    .isEqualTo(200);
        }
    }

    @Test
    void clientThatLeavesInMidBodyLeavesTheOutcomeUnknown() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(directory, service, QUARANTINE)) {
            gateway.putAdmitted(33, "first");
            service.begun.clear();
            service.applied.clear();
            try (Socket client = gateway.connect()) {
                client.getOutputStream()
                        .write(("PUT /items/1 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: "
                                        + gateway.locks.exclusive("items/1", 33)
                                        + "\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
                                .getBytes(US_ASCII));
                await().until(() -> service.begun.size() == 1);
            }
            await().untilAsserted(() -> assertThat(service.broken).hasSize(1));
            assertThat(service.applied).isEmpty();
            assertQuarantined(gateway, 34);
        }
    }

    /** Its request was sent whole, so the service's answer comes and says when the call has ended. */
    @Test
    void clientThatLeavesAfterItsRequestCostsNoQuarantine() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway =
                        new GatewayFixture(directory, service, "lock-wait: 60s", "unknown-outcome-timeout: 90s")) {
            CompletableFuture<Void> go = service.hold();
            WebClient client = WebClient.of("h2c://127.0.0.1:" + gateway.gateway.port());
            var abandoned = client.execute(
                    RequestHeaders.of(
                            HttpMethod.PUT, "/items/1", "fencing-sequencer", gateway.locks.exclusive("items/1", 33)),
                    HttpData.ofUtf8("older"));
            await().until(() -> service.begun.size() == 1);
            service.handler = service::store;
            CompletableFuture<HttpResponse<String>> newer = gateway.putAsync(34, "newer");
            await().until(() -> gateway.gateway.guard().stats().waiting() == 1);
            abandoned.abort();
            // On the same connection, so the gateway has seen the cancel when it answers.
            assertThat(client.blocking().get("/open/x").status()).isEqualTo(HttpStatus.OK);
            assertThat(service.begun).containsExactly("PUT /items/1", "GET /open/x");
            go.complete(null);
            assertThat(newer.join().statusCode()).isEqualTo(200);
            assertThat(service.contents).containsEntry("/items/1", "newer");
        }
    }

    /** A client that gave up waiting asks what became of its write: the answer has to stay true. */
    @Test
    void requestOfAClientThatLeftIsEndedBeforeItsNextOneBegins() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway =
                        new GatewayFixture(directory, service, "lock-wait: 60s", "unknown-outcome-timeout: 90s")) {
            CompletableFuture<Void> go = service.hold();
            WebClient client = WebClient.of("h2c://127.0.0.1:" + gateway.gateway.port());
            var abandoned = client.execute(
                    RequestHeaders.of(
                            HttpMethod.PUT, "/items/1", "fencing-sequencer", gateway.locks.exclusive("items/1", 33)),
                    HttpData.ofUtf8("written"));
            await().until(() -> service.begun.size() == 1);
            service.handler = service::store;
            abandoned.abort();
            // On the same connection, so the gateway has seen the cancel when it answers.
            assertThat(client.blocking().get("/open/x").status()).isEqualTo(HttpStatus.OK);
            CompletableFuture<HttpResponse<String>> read = gateway.getAsync(33);
            await().until(() -> gateway.gateway.guard().stats().waiting() == 1);
            go.complete(null);
            assertThat(read.join().body()).isEqualTo("written");
        }
    }

    /** A stream of events, which its service would send for ever. */
    @Test
    void responseWithoutAnEndIsGivenUpWhenItsClientLeaves() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway =
                        new GatewayFixture(directory, service.address(), "http1", "300ms", QUARANTINE)) {
            assertThat(gateway.putAdmitted(33, "first").statusCode()).isEqualTo(200);
            CompletableFuture<Void> ended = new CompletableFuture<>();
            service.handler = (context, request) -> {
                HttpResponseWriter events = com.linecorp.armeria.common.HttpResponse.streaming();
                events.write(ResponseHeaders.of(HttpStatus.OK));
                request.abort();
                Future<?> ticks = context.eventLoop()
                        .scheduleAtFixedRate(() -> events.write(HttpData.ofUtf8(".")), 0, 20, TimeUnit.MILLISECONDS);
                var unused = events.whenComplete().handle((done, failure) -> {
                    ticks.cancel(false);
                    return ended.complete(null);
                });
                return events;
            };
            try (Socket client = gateway.connect()) {
                client.getOutputStream()
                        .write(("GET /items/1 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: "
                                        + gateway.locks.exclusive("items/1", 33) + "\r\n\r\n")
                                .getBytes(US_ASCII));
                InputStream in = client.getInputStream();
                assertThat(head(in)).startsWith("HTTP/1.1 200 ");
                // Longer than the timeout: with its client it goes on.
                for (int i = 0; i < 300; i++) {
                    assertThat(in.read()).isNotNegative();
                }
                assertThat(ended).isNotDone();
            }
            ended.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void stopWaitsForCallsAndRefusesNewOnes() throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(directory, service, QUARANTINE)) {
            gateway.putAdmitted(33, "first");
            service.begun.clear();
            service.applied.clear();
            CompletableFuture<Void> go = service.hold();
            CompletableFuture<HttpResponse<String>> running = gateway.putAsync(33, "x");
            await().until(() -> service.begun.size() == 1);
            CompletableFuture<Boolean> stopped = CompletableFuture.supplyAsync(() -> {
                try {
                    return gateway.gateway.stop();
                } catch (InterruptedException e) {
                    return false;
                }
            });
            await().ignoreExceptions().until(() -> gateway.put(33, "y").statusCode() == 503);
            assertThat(stopped).isNotDone();
            go.complete(null);
            assertThat(running.join().statusCode()).isEqualTo(200);
            assertThat(stopped.join()).isTrue();
            assertThat(service.applied).hasSize(1);
        }
    }
}
