package dev.palisade.gateway;

import static dev.palisade.gateway.GatewayFixture.problem;
import static dev.palisade.gateway.GatewayFixture.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequestWriter;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.RequestHeadersBuilder;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the gateway forwards and what it refuses, judged by the log of the service behind it. */
class GatewayTest {
    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private final PlainService service = new PlainService();

    @AfterEach
    void stop() {
        service.close();
    }

    /** The first test: two proxy libraries lose such a body, and the service applies an empty one. */
    @ParameterizedTest
    @CsvSource({
        "h1c, http1, false", "h1c, http2, false", "h2c, http1, false", "h2c, http2, false",
        "h1c, http1, true", "h1c, http2, true", "h2c, http1, true", "h2c, http2, true"
    })
    void bodyArrivesWholeWithAndWithoutALength(String client, String upstream, boolean length) {
        try (GatewayFixture gateway = new GatewayFixture(directory, service.address(), upstream, "30s")) {
            RequestHeadersBuilder headers = RequestHeaders.builder(HttpMethod.PUT, "/items/1")
                    .add("fencing-sequencer", gateway.locks.exclusive("items/1", 7));
            if (length) {
                headers.contentLength(200_000);
            }
            HttpRequestWriter request = com.linecorp.armeria.common.HttpRequest.streaming(headers.build());
            CompletableFuture<AggregatedHttpResponse> reply = WebClient.of(
                            client + "://127.0.0.1:" + gateway.gateway.port())
                    .execute(request)
                    .aggregate();
            for (int i = 0; i < 20; i++) {
                request.write(HttpData.wrap(new byte[10_000]));
            }
            request.close();

            assertThat(reply.join().contentUtf8()).isEqualTo("stored 200000");
            assertThat(service.applied).containsExactly("/items/1 200000");
        }
    }

    @ParameterizedTest
    @CsvSource({"http1", "http2"})
    void trailersOfHttp2ReachNeitherTheGuardNorTheService(String upstream) {
        try (GatewayFixture gateway = new GatewayFixture(directory, service.address(), upstream, "30s")) {
            HttpHeaders trailers =
                    HttpHeaders.of("fencing-sequencer", gateway.locks.exclusive("items/1", 7), "x-item", "1");
            for (boolean sequencer : new boolean[] {true, false}) {
                RequestHeadersBuilder headers = RequestHeaders.builder(HttpMethod.PUT, "/items/1");
                if (sequencer) {
                    headers.add("fencing-sequencer", gateway.locks.exclusive("items/1", 7));
                }
                HttpRequestWriter request = com.linecorp.armeria.common.HttpRequest.streaming(headers.build());
                CompletableFuture<AggregatedHttpResponse> reply = WebClient.of(
                                "h2c://127.0.0.1:" + gateway.gateway.port())
                        .execute(request)
                        .aggregate();
                // A refusal may come before, and ends the request.
                var unused = request.tryWrite(HttpData.ofUtf8("body")) && request.tryWrite(trailers);
                request.close();
                assertThat(reply.join().status().code()).isEqualTo(sequencer ? 200 : 428);
            }
            assertThat(service.applied).containsExactly("/items/1 4");
            assertThat(service.trailers).containsExactly("");
        }
    }

    @Test
    void lateWriteOfAFormerHolderIsRefusedByNameOfBothTokens() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            assertThat(gateway.put(33, "first").statusCode()).isEqualTo(200);
            assertThat(gateway.put(34, "second").statusCode()).isEqualTo(200);
            HttpResponse<String> late = gateway.put(33, "late");

            assertThat(late.statusCode()).isEqualTo(409);
            assertThat(late.headers().firstValue("content-type")).hasValue("application/problem+json");
            assertThat(text(problem(late), "reason")).isEqualTo("TOKEN_STALE");
            assertThat(text(problem(late), "applied")).isEqualTo("no");
            assertThat(text(problem(late), "presented_token")).isEqualTo("33");
            assertThat(text(problem(late), "mark_token")).isEqualTo("34");
            assertThat(service.contents).containsEntry("/items/1", "second");
            assertThat(service.begun).hasSize(2);
        }
    }

    /** A read is the first half of a write: what was computed from it must not be overwritten by an older holder. */
    @Test
    void readRaisesTheMark() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            assertThat(gateway.send(gateway.request(34).GET()).statusCode()).isEqualTo(200);
            assertThat(gateway.put(33, "late").statusCode()).isEqualTo(409);
            assertThat(service.applied).isEmpty();
        }
    }

    @Test
    void nothingIsSentBeforeTheGuardHasDecided() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            CompletableFuture<Void> go = service.hold();
            CompletableFuture<HttpResponse<String>> older = gateway.putAsync(33, "older");
            await().until(() -> service.begun.size() == 1);
            CompletableFuture<HttpResponse<String>> newer = gateway.putAsync(34, "newer");
            await().until(() -> gateway.gateway.guard().stats().waiting() == 1);
            assertThat(service.begun).hasSize(1);

            go.complete(null);
            assertThat(older.join().statusCode()).isEqualTo(200);
            assertThat(newer.join().statusCode()).isEqualTo(200);
            assertThat(service.applied).containsExactly("/items/1 5", "/items/1 5");
            assertThat(service.contents).containsEntry("/items/1", "newer");
        }
    }

    @Test
    void sequencerThatProvesNothingIsRefusedAndSentNowhere() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            String forged = new TestLocks().exclusive("items/1", 99);
            String other = gateway.locks.exclusive("items/2", 99);
            String shared = gateway.locks.sequencer("items/1", Mode.SHARED, 99);
            refused(gateway, HttpRequest.newBuilder(gateway.uri("/items/1")), 428, "SEQUENCER_MISSING");
            refused(gateway, sequenced(gateway, "garbage!"), 403, "SEQUENCER_INVALID");
            refused(gateway, sequenced(gateway, forged), 403, "SEQUENCER_INVALID");
            refused(gateway, sequenced(gateway, other), 403, "WRONG_RESOURCE");
            refused(gateway, sequenced(gateway, shared), 403, "MODE_NOT_ALLOWED");
            refused(gateway, sequenced(gateway, other).header("Fencing-Sequencer", other), 403, "SEQUENCER_INVALID");
            assertThat(service.begun).isEmpty();
            assertThat(gateway.put(1, "x").statusCode()).as("no mark was moved").isEqualTo(200);
        }
    }

    private static HttpRequest.Builder sequenced(GatewayFixture gateway, String sequencer) {
        return HttpRequest.newBuilder(gateway.uri("/items/1")).header("Fencing-Sequencer", sequencer);
    }

    private static void refused(GatewayFixture gateway, HttpRequest.Builder request, int status, String reason)
            throws Exception {
        HttpResponse<String> response = gateway.send(request.PUT(BodyPublishers.ofString("x")));
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(text(problem(response), "reason")).isEqualTo(reason);
        assertThat(text(problem(response), "applied")).isEqualTo("no");
    }

    @Test
    void serviceSeesNeitherTheSequencerNorWhatAClientSaysOfItsAddress() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            gateway.send(gateway.request(7)
                    .header("X-Forwarded-For", "10.0.0.1, nonsense")
                    .header("Forwarded", "for=10.0.0.1")
                    .header("X-Real-IP", "10.0.0.1")
                    .header("X-Forwarded-Prefix", "/other")
                    .header("X_Forwarded_For", "10.0.0.1")
                    .header("Fencing_Sequencer", gateway.locks.exclusive("items/1", 99))
                    .header("X-Kept", "yes")
                    .PUT(BodyPublishers.ofString("x")));
            RequestHeaders seen = service.headers.get(0);
            assertThat(seen.get("fencing-sequencer")).isNull();
            assertThat(seen.get("forwarded")).isNull();
            assertThat(seen.get("x-real-ip")).isNull();
            assertThat(seen.get("x-forwarded-prefix")).isNull();
            assertThat(seen.get("x_forwarded_for")).isNull();
            assertThat(seen.get("fencing_sequencer")).isNull();
            assertThat(seen.getAll("x-forwarded-for")).containsExactly("127.0.0.1");
            assertThat(seen.get("x-kept")).isEqualTo("yes");
            assertThat(seen.authority()).isEqualTo("127.0.0.1:" + gateway.gateway.port());
        }
    }

    @Test
    void sequencerIsPassedOnWhereTheFileSaysSo() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service, "pass-sequencer: true")) {
            gateway.send(gateway.request(7)
                    .header("Fencing_Sequencer", gateway.locks.exclusive("items/1", 99))
                    .PUT(BodyPublishers.ofString("x")));
            assertThat(service.headers.get(0).get("fencing-sequencer"))
                    .isEqualTo(gateway.locks.exclusive("items/1", 7));
            assertThat(service.headers.get(0).get("fencing_sequencer")).isNull();
        }
    }

    @Test
    void unknownRouteIsRefused() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            for (String target : new String[] {"/", "/items", "/items/", "/items/1/more", "/Items/1", "/shop/1"}) {
                HttpResponse<String> response = gateway.send(HttpRequest.newBuilder(gateway.uri(target))
                        .header("Fencing-Sequencer", gateway.locks.exclusive("items/1", 7)));
                assertThat(response.statusCode()).as(target).isEqualTo(404);
                assertThat(text(problem(response), "applied")).isEqualTo("no");
            }
            assertThat(service.begun).isEmpty();
        }
    }

    @Test
    void unguardedRouteNeedsNoSequencer() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            HttpResponse<String> response = gateway.send(HttpRequest.newBuilder(gateway.uri("/open/a/b?q=%7E1;2")));
            assertThat(response.statusCode()).isEqualTo(200);
            assertThat(service.begun).containsExactly("GET /open/a/b?q=%7E1;2");
        }
    }

    @Test
    void lockIsNamedByPathHeaderAndQuery() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            HttpRequest.Builder named = HttpRequest.newBuilder(gateway.uri("/named?other=1&part=a%2Fb"))
                    .header("X-Item", "42")
                    .header("Fencing-Sequencer", gateway.locks.exclusive("named/42/a/b", 7));
            assertThat(gateway.send(named.copy().PUT(BodyPublishers.ofString("x")))
                            .statusCode())
                    .isEqualTo(200);
            for (String query :
                    new String[] {"", "?part=", "?part=a&part=b", "?part=a&PART=b", "?part=a;b", "?part=%4"}) {
                HttpResponse<String> response =
                        gateway.send(named.copy().uri(gateway.uri("/named")).uri(raw(gateway, query)));
                assertThat(response.statusCode()).as(query).isEqualTo(400);
            }
            // PHP knows one parameter by all of these names.
            for (String again : new String[] {"part[]", "part[0]", "+part", "part+", "part%00x"}) {
                HttpResponse<String> response =
                        gateway.send(named.copy().uri(gateway.uri("/named?part=a%2Fb&" + again + "=c")));
                assertThat(response.statusCode()).as(again).isEqualTo(400);
            }
            for (String again : new String[] {"X-Item", "X_Item"}) {
                HttpResponse<String> twice = gateway.send(named.copy().header(again, "43"));
                assertThat(twice.statusCode()).as(again).isEqualTo(400);
            }
            assertThat(service.begun).hasSize(1);
        }
    }

    private static java.net.URI raw(GatewayFixture gateway, String query) {
        return query.equals("?part=%4") ? gateway.uri("/named?part=%C3") : gateway.uri("/named" + query);
    }

    @Test
    void methodOrPathOfAnotherHeaderIsRefused() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            for (String header : new String[] {
                "X-HTTP-Method-Override", "X-Original-URL", "X_HTTP_Method_Override", "SCRIPT_NAME", "PATH_INFO"
            }) {
                HttpResponse<String> response =
                        gateway.send(gateway.request(7).header(header, "PUT").GET());
                assertThat(response.statusCode()).as(header).isEqualTo(400);
            }
            assertThat(service.begun).isEmpty();
        }
    }

    /** HTTP/1.1 would lose the trailers, and with them the status. */
    @Test
    void grpcIsRefusedWhereItsStatusWouldBeLost() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            for (String type : new String[] {
                "application/grpc", "application/grpc+proto", "application/grpc-web", "Application/GRPC-Web"
            }) {
                HttpResponse<String> response = gateway.send(
                        gateway.request(7).header("Content-Type", type).POST(BodyPublishers.ofString("x")));
                assertThat(response.statusCode()).as(type).isEqualTo(400);
                assertThat(text(problem(response), "reason")).isEqualTo("MALFORMED_REQUEST");
            }
            assertThat(service.begun).isEmpty();
        }
    }

    @Test
    void guardThatObservesForwardsAndCounts() throws Exception {
        try (GatewayFixture gateway = new GatewayFixture(directory, service, "observe-only: true")) {
            assertThat(gateway.put(34, "newer").statusCode()).isEqualTo(200);
            assertThat(gateway.put(33, "late").statusCode()).isEqualTo(200);
            assertThat(gateway.send(HttpRequest.newBuilder(gateway.uri("/unknown")))
                            .statusCode())
                    .isEqualTo(200);
            assertThat(service.begun).hasSize(3);
            await().untilAsserted(
                            () -> assertThat(gateway.gateway.guard().stats().wouldRefuse())
                                    .containsEntry(Reason.TOKEN_STALE, 1L)
                                    .containsEntry(Reason.MALFORMED_REQUEST, 1L));
        }
    }

    /** What an operator needs to find the caller: the request without its query, the sender, and the lock. */
    @Test
    void refusedRequestsAreLoggedWithTheirCallers() throws Exception {
        List<String> lines = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger events = Logger.getLogger("dev.palisade.guard.events");
        events.addHandler(handler);
        try (GatewayFixture gateway = new GatewayFixture(directory, service)) {
            assertThat(gateway.put(34, "newer").statusCode()).isEqualTo(200);
            assertThat(gateway.put(33, "late").statusCode()).isEqualTo(409);
            HttpResponse<String> missing = gateway.send(HttpRequest.newBuilder(gateway.uri("/items/caller?secret=1"))
                    .PUT(BodyPublishers.ofString("x")));
            assertThat(text(problem(missing), "detail")).contains("(lock 'items/caller')");
        }
        try (GatewayFixture gateway = new GatewayFixture(
                Files.createDirectory(directory.resolve("observing")), service, "observe-only: true")) {
            gateway.send(HttpRequest.newBuilder(gateway.uri("/unrouted?secret=1")));
        } finally {
            events.removeHandler(handler);
        }
        assertThat(lines)
                .noneMatch(line -> line.contains("secret"))
                .anyMatch(
                        line -> line.matches("event=refused reason=TOKEN_STALE lock=items/1 .* method=PUT path=/items/1"
                                + " peer=\"?/127\\.0\\.0\\.1:[0-9]+\"? message=.*"))
                .anyMatch(line -> line.startsWith("event=refused reason=SEQUENCER_MISSING lock=items/caller"
                        + " resource=items/caller method=PUT path=/items/caller peer="))
                .anyMatch(line -> line.startsWith("event=refused reason=MALFORMED_REQUEST method=GET path=/unrouted")
                        && line.contains(
                                "observed=yes message=\"would have been refused, and was let through: no route")
                        && !line.contains("nothing was forwarded"));
    }

    @Test
    void marksOutliveTheGateway() throws Exception {
        GatewayConfig config;
        TestLocks locks;
        GatewayFixture gateway = new GatewayFixture(directory, service);
        try (gateway.gateway) {
            locks = gateway.locks;
            gateway.put(34, "newer");
            config = ConfigFile.read(directory.resolve("gateway.yaml").toString());
        }
        Gateway next = Gateway.start(config, locks.verifier(), locks);
        HttpResponse<String> late = java.net.http.HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(java.net.URI.create("http://127.0.0.1:" + next.port() + "/items/1"))
                                .header("Fencing-Sequencer", locks.exclusive("items/1", 33))
                                .PUT(BodyPublishers.ofString("late"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        GatewayFixture.closeLater(next);
        assertThat(late.statusCode()).isEqualTo(409);
        assertThat(service.contents).containsEntry("/items/1", "newer");
    }
}
