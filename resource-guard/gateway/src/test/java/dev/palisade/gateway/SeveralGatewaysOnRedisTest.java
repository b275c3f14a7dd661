package dev.palisade.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import io.lettuce.core.RedisException;
import java.io.IOException;
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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two gateways in front of one service, with one register in a Redis that is stopped, emptied and frozen. */
@Execution(ExecutionMode.CONCURRENT)
class SeveralGatewaysOnRedisTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final TestLocks locks = new TestLocks();
    private final PlainService service = new PlainService();
    private final HttpClient http = HttpClient.newHttpClient();

    private String lockWait = "5s";

    @TempDir
    Path directory;

    @AfterEach
    void stop() {
        service.close();
    }

    private GatewayConfig config(String register) throws Exception {
        return ConfigFile.read(file(register).toString());
    }

    private Path file(String register) throws IOException {
        return Files.writeString(
                directory.resolve("gateway.yaml"),
                "listen: 127.0.0.1:0\nprotects: items\nunknown-outcome-timeout: 1s\nlock-wait: " + lockWait
                        + "\nregister: {lease: 2s, " + register
                        + "}\nupstream:\n  addresses: " + service.address() + "\n  idle-timeout: 1s\n"
                        + GatewayFixture.ROUTES);
    }

    private Gateway start(RedisProcess redis) throws Exception {
        return start("redis: '" + redis.uri() + "'");
    }

    private Gateway start(String register) throws Exception {
        return Gateway.start(config(register), locks.verifier(), locks);
    }

    private void init(RedisProcess redis) throws IOException {
        assertThat(Main.run("init", file("redis: '" + redis.uri() + "'").toString()))
                .isZero();
    }

    @Test
    void aTokenThatOnlyOneHasSeenIsStaleAtTheOther() throws Exception {
        try (RedisProcess redis = RedisProcess.start()) {
            init(redis);
            try (Gateway one = start(redis);
                    Gateway two = start(redis)) {
                assertThat(put(one, 7, "first").statusCode()).isEqualTo(200);
                assertThat(put(two, 8, "second").statusCode()).isEqualTo(200);
                HttpResponse<String> late = put(one, 7, "late");
                assertThat(late.statusCode()).isEqualTo(409);
                assertThat(reason(late)).isEqualTo("TOKEN_STALE");
                assertThat(service.contents).containsValue("second").hasSize(1);
                aNewerGrantWaitsForARequestThatRunsThroughTheOther(redis, one, two);
            }
        }
    }

    private void aNewerGrantWaitsForARequestThatRunsThroughTheOther(RedisProcess redis, Gateway one, Gateway two) {
        int before = service.begun.size();
        CompletableFuture<Void> mayEnd = service.hold();
        CompletableFuture<HttpResponse<String>> first = putAsync(one, 9, "first");
        Awaitility.await().until(() -> service.begun.size() == before + 1);
        CompletableFuture<HttpResponse<String>> second = putAsync(two, 10, "newer");
        Awaitility.await()
                .until(() -> redis.ask("HGET", "palisade:register:{items}", "row:items/1")
                        .contains(" 10 "));
        assertThat(service.begun).hasSize(before + 1);
        mayEnd.complete(null);
        assertThat(first.join().statusCode()).isEqualTo(200);
        assertThat(second.join().statusCode()).isEqualTo(200);
        assertThat(service.contents).containsValue("newer").hasSize(1);
    }

    @Test
    void gatewaysRefuseWithoutRedisAndRaiseAllMarksWhenItComesBackEmpty() throws Exception {
        lockWait = "500ms"; // A refusal for want of Redis waits as long.
        try (RedisProcess redis = RedisProcess.start("save ''")) {
            init(redis);
            try (Gateway one = start(redis);
                    Gateway two = start(redis)) {
                assertThat(put(one, 7, "before").statusCode()).isEqualTo(200);
                redis.kill9();
                for (Gateway gateway : Set.of(one, two)) {
                    HttpResponse<String> away = put(gateway, 8, "away");
                    assertThat(away.statusCode()).isEqualTo(503);
                    assertThat(reason(away)).isEqualTo("MARK_UNAVAILABLE");
                    assertThat(away.body()).contains("nothing was applied").doesNotContain("\\n");
                }
                assertThat(service.applied).hasSize(1);

                locks.barrier = 20; // All leases from before the loss have lower tokens.
                long restarted = System.nanoTime();
                redis.restart();
                assertThat(putUntilKnown(two, 8, "old")).satisfies(old -> {
                    assertThat(old.statusCode()).isEqualTo(409);
                    assertThat(reason(old)).isEqualTo("TOKEN_STALE");
                });
                assertThat(putUntilKnown(one, 21, "new").statusCode()).isEqualTo(200);
                assertThat(Duration.ofNanos(System.nanoTime() - restarted))
                        .as("a lease of 2 s and an unknown-outcome timeout of 1 s")
                        .isGreaterThanOrEqualTo(Duration.ofSeconds(3));
                assertThat(put(two, 8, "late").statusCode()).isEqualTo(409);
                assertThat(service.contents).containsValue("new").hasSize(1);
            }
        }
    }

    /** Its connections stay open, and nothing comes on them: the system would keep them for a quarter of an hour. */
    @Test
    void aConnectionOnWhichNothingComesIsReplaced() throws Exception {
        lockWait = "500ms"; // A refusal for want of Redis waits as long.
        try (RedisProcess redis = RedisProcess.start()) {
            init(redis);
            try (Gateway gateway = start(redis)) {
                assertThat(put(gateway, 7, "before").statusCode()).isEqualTo(200);
                String first = clients(redis);
                redis.freeze();
                HttpResponse<String> frozen = put(gateway, 8, "frozen");
                assertThat(reason(frozen)).isEqualTo("MARK_UNAVAILABLE");
                long until = System.nanoTime() + Duration.ofSeconds(3).toNanos();
                Awaitility.await().atMost(PATIENCE).until(() -> System.nanoTime() > until);
                redis.thaw();
                assertThat(putUntilKnown(gateway, 9, "after").statusCode()).isEqualTo(200);
                assertThat(clients(redis)).isNotEqualTo(first);
            }
        }
    }

    private static String clients(RedisProcess redis) {
        return redis.ask("CLIENT", "LIST", "TYPE", "normal")
                .lines()
                .filter(line -> line.contains("cmd=evalsha") || line.contains("cmd=eval"))
                .map(line -> line.split(" ", 2)[0])
                .toList()
                .toString();
    }

    @Test
    void aRedisThatCannotBeUsedIsNamedInOneLine() throws Exception {
        try (RedisProcess redis = RedisProcess.start("requirepass right")) {
            Files.writeString(directory.resolve("right"), "right\n");
            Files.writeString(directory.resolve("wrong"), "wrong\n");
            String uri = "redis: '" + redis.uri() + "'";
            String advice = "); is it up, and are redis, user and password-file of register right?";
            assertThat(refusal(uri))
                    .startsWith("cannot connect to the register at " + redis.uri() + " (NOAUTH ")
                    .endsWith(advice);
            assertThat(refusal(uri + ", password-file: wrong"))
                    .startsWith("cannot connect to the register at " + redis.uri() + " (WRONGPASS ")
                    .endsWith(advice);
            assertThat(refusal(uri + ", password-file: missing"))
                    .startsWith("password-file ")
                    .contains("missing");
            start(uri + ", password-file: right").close();
            redis.stop();
            assertThat(refusal(uri + ", password-file: right"))
                    .startsWith("cannot connect to the register at " + redis.uri() + " (connection refused")
                    .endsWith(advice);
        }
    }

    /** Lettuce sometimes reports that the connection was closed, and loses the error that Redis sent. */
    @Test
    void reasonBehindAClosedGreetingIsAskedForAgain() throws Exception {
        Files.writeString(directory.resolve("wrong"), "wrong\n");
        for (int closed : new int[] {1, 100}) {
            try (ServerSocket redis = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
                Thread greeter = new Thread(() -> greet(redis, closed), "greeter");
                greeter.setDaemon(true);
                greeter.start();
                String address = "redis://127.0.0.1:" + redis.getLocalPort();
                assertThat(refusal("redis: '" + address + "', password-file: wrong"))
                        .startsWith("cannot connect to the register at " + address
                                + (closed == 1 ? " (WRONGPASS " : " (it closed the connection)"));
            }
        }
    }

    /** Both are Lettuce's words for a greeting that was cut short. */
    @ParameterizedTest
    @ValueSource(strings = {"Connection closed prematurely", "RedisHandshakeHandler not registered"})
    void closedGreetingIsNamedInOurWords(String ofLettuce) {
        assertThat(RegisterInRedis.why(new RedisException("Unable to connect", new IllegalStateException(ofLettuce))))
                .isEqualTo("it closed the connection");
    }

    /** @param closed number of connections that are closed before the first WRONGPASS */
    private static void greet(ServerSocket redis, int closed) {
        byte[] buffer = new byte[4096];
        for (int n = 0; ; n++) {
            try (Socket client = redis.accept()) {
                int read = client.getInputStream().read(buffer);
                if (n >= closed && read > 0) {
                    client.getOutputStream().write("-WRONGPASS of a pretender\r\n".getBytes(US_ASCII));
                    read = client.getInputStream().read(buffer); // Until the client closes.
                }
            } catch (IOException e) {
                if (redis.isClosed()) {
                    return;
                }
            }
        }
    }

    @Test
    void tlsVerifiesTheRedisAndShowsACertificate() throws Exception {
        TestAuthority authority = TestAuthority.named("authority");
        TestCertificate server = authority.server();
        Path ca = authority.write(directory.resolve("ca.pem"));
        Path cert = server.writeCertificate(directory.resolve("redis.pem"));
        Path key = server.writeKey(directory.resolve("redis.key"));
        TestCertificate own = authority.client("gateway");
        own.writeCertificate(directory.resolve("own.pem"));
        own.writeKey(directory.resolve("own.key"));
        TestAuthority.named("strangers").write(directory.resolve("strangers.pem"));
        try (RedisProcess redis = withTls(ca, cert, key)) {
            String uri = "redis: 'rediss://127.0.0.1:" + redis.port() + "?cert=own.pem&key=own.key&ca=";
            start(uri + "ca.pem'").close();
            assertThat(refusal(uri + "strangers.pem'")).contains("(TLS: ");
            assertThat(refusal(uri + "missing.pem'"))
                    .startsWith("certificate file ")
                    .endsWith("missing.pem cannot be read; name a PEM file in ca= of redis below register");
            assertThat(refusal("redis: 'rediss://127.0.0.1:" + redis.port() + "?ca=ca.pem'"))
                    .startsWith("cannot connect to the register at rediss://");
        }
    }

    private static RedisProcess withTls(Path ca, Path cert, Path key) {
        try {
            return new RedisSetup()
                    .config(
                            "tls-port 0",
                            "tls-auth-clients yes",
                            "tls-ca-cert-file " + ca,
                            "tls-cert-file " + cert,
                            "tls-key-file " + key)
                    .start();
        } catch (IllegalStateException e) {
            assumeFalse(
                    String.valueOf(e.getMessage()).contains("Bad directive"), "this redis-server is built without TLS");
            throw e;
        }
    }

    private String refusal(String register) {
        String[] message = new String[1];
        assertThatThrownBy(() -> start(register).close())
                .isInstanceOf(IOException.class)
                .satisfies(refused -> message[0] = refused.getMessage());
        assertThat(message[0]).doesNotContain("\n");
        return message[0];
    }

    private static String reason(HttpResponse<String> response) {
        return GatewayFixture.text(GatewayFixture.problem(response), "reason");
    }

    /** Again while the marks are not known, or calls that the loss may hide are waited for. */
    private HttpResponse<String> putUntilKnown(Gateway gateway, long token, String text) {
        return Awaitility.await()
                .atMost(PATIENCE)
                .until(() -> put(gateway, token, text), response -> response.statusCode() != 503);
    }

    private HttpResponse<String> put(Gateway gateway, long token, String text) {
        return putAsync(gateway, token, text).join();
    }

    private CompletableFuture<HttpResponse<String>> putAsync(Gateway gateway, long token, String text) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.port() + "/items/1"))
                .header("Fencing-Sequencer", locks.exclusive("items/1", token))
                .PUT(BodyPublishers.ofString(text))
                .build();
        return http.sendAsync(request, BodyHandlers.ofString());
    }
}
