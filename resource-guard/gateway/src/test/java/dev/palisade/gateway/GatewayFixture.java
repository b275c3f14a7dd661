package dev.palisade.gateway;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.guard.MarkStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A gateway in this process, in front of a service of the test's. */
final class GatewayFixture implements AutoCloseable {
    static final String ROUTES = """
            routes:
              - path: /items/{id}
                lock: items/{id}
              - path: /named
                lock: named/{header.X-Item}/{query.part}
              - path: /test.Texts/{method}
                lock: texts/{header.item}
              - path: /open/{rest*}
                access: unguarded
              - path: /any/{name*}
                lock: "{name}"
              - host: shop.example
                path: /shop/{id}
                methods: [POST]
                access: read
                lock: shop/{id}
            """;

    final TestLocks locks = new TestLocks();
    final Gateway gateway;

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** @param more lines of the file beside listen, protects, marks, upstream and routes */
    GatewayFixture(Path directory, String upstream, String protocol, String idleTimeout, String... more) {
        this(Gateway.CONNECTIONS_MAX, RunningRequests.withinMemory(), directory, upstream, protocol, idleTimeout, more);
    }

    /** With bounds that a test reaches. */
    static GatewayFixture bounded(Path directory, PlainService service, int connectionsMax, int requestsMax) {
        return new GatewayFixture(
                connectionsMax, new RunningRequests(requestsMax), directory, service.address(), "http1", "30s");
    }

    private GatewayFixture(
            int connectionsMax,
            RunningRequests requests,
            Path directory,
            String upstream,
            String protocol,
            String idleTimeout,
            String... more) {
        this(
                connectionsMax,
                requests,
                directory,
                "upstream:\n  addresses: " + upstream + "\n  protocol: " + protocol + "\n  idle-timeout: " + idleTimeout
                        + "\n" + String.join("\n", more) + "\n" + ROUTES);
    }

    private GatewayFixture(int connectionsMax, RunningRequests requests, Path directory, String rest) {
        try {
            Path file = Files.writeString(
                    directory.resolve("gateway.yaml"), "listen: 127.0.0.1:0\nprotects: items\nmarks: marks\n" + rest);
            GatewayConfig config = ConfigFile.read(file.toString());
            MarkStore.createNeverUsed(config.marks());
            gateway = Gateway.start(config, locks.verifier(), locks, connectionsMax, requests);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ConfigRefused e) {
            throw new IllegalStateException(e);
        }
    }

    /** @param rest lines of the file beside listen, protects and marks */
    static GatewayFixture of(Path directory, String rest) {
        return new GatewayFixture(Gateway.CONNECTIONS_MAX, RunningRequests.withinMemory(), directory, rest);
    }

    /** With a bound that a test reaches. */
    static GatewayFixture bounded(Path directory, String rest, int requestsMax) {
        return new GatewayFixture(Gateway.CONNECTIONS_MAX, new RunningRequests(requestsMax), directory, rest);
    }

    GatewayFixture(Path directory, PlainService service, String... more) {
        this(directory, service.address(), "http1", "30s", more);
    }

    URI uri(String target) {
        return URI.create("http://127.0.0.1:" + gateway.port() + target);
    }

    /** A request on item 1 under the grant of that token. */
    HttpRequest.Builder request(long token) {
        return HttpRequest.newBuilder(uri("/items/1")).header("Fencing-Sequencer", locks.exclusive("items/1", token));
    }

    HttpResponse<String> put(long token, String text) throws IOException, InterruptedException {
        return send(request(token).PUT(BodyPublishers.ofString(text)));
    }

    /** A put that the guard admits, on a busy machine at the second or third try: a refused one was not forwarded. */
    HttpResponse<String> putAdmitted(long token, String text) throws IOException, InterruptedException {
        return unless(Set.of("DRAINING", "MARK_UNAVAILABLE"), token, text);
    }

    /** A put while another call keeps the lock's grant out, or its marks are known. */
    HttpResponse<String> putWithKnownMarks(long token, String text) throws IOException, InterruptedException {
        return unless(Set.of("MARK_UNAVAILABLE"), token, text);
    }

    private HttpResponse<String> unless(Set<String> reasons, long token, String text)
            throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        HttpResponse<String> response = put(token, text);
        while (response.statusCode() == 503
                && reasons.contains(text(problem(response), "reason"))
                && System.nanoTime() < end) {
            response = put(token, text);
        }
        return response;
    }

    CompletableFuture<HttpResponse<String>> putAsync(long token, String text) {
        return http.sendAsync(request(token).PUT(BodyPublishers.ofString(text)).build(), BodyHandlers.ofString());
    }

    CompletableFuture<HttpResponse<String>> getAsync(long token) {
        return http.sendAsync(request(token).GET().build(), BodyHandlers.ofString());
    }

    HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return http.send(request.build(), BodyHandlers.ofString());
    }

    static JsonObject problem(HttpResponse<String> response) {
        return JsonParser.parseString(response.body()).getAsJsonObject();
    }

    static String text(JsonObject object, String name) {
        return object.has(name) ? object.get(name).getAsString() : "";
    }

    Socket connect() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), gateway.port());
        socket.setSoTimeout(60_000);
        return socket;
    }

    @Override
    public void close() {
        closeLater(gateway);
    }

    /** Not waited for: the HTTP server takes 2 s. */
    static void closeLater(Gateway gateway) {
        Thread closing = new Thread(gateway::close, "closing");
        closing.setDaemon(true);
        closing.start();
    }

    int adminPort() {
        return Objects.requireNonNull(gateway.admin()).port();
    }
}
