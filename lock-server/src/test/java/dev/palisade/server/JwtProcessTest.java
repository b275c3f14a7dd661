package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.nimbusds.jose.jwk.RSAKey;
import com.sun.net.httpserver.HttpServer;
import dev.palisade.contract.Reason;
import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.server.access.JwtIssuer;
import io.grpc.CompositeChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real server process that accepts JWTs: its options, its keys by HTTP, and its log. */
class JwtProcessTest {
    private static final RSAKey OLD = JwtIssuer.rsa("old");
    private static final RSAKey NEW = JwtIssuer.rsa("new");

    @TempDir
    Path home;

    private ServerProcess server(String... more) throws Exception {
        Path policy = Files.writeString(home.resolve("policy.conf"), "allow jwt:alice describe *\n");
        List<String> arguments = new ArrayList<>(List.of("server", "--port", "0", "--policy", policy.toString()));
        arguments.addAll(List.of(more));
        return ServerProcess.start(home, Map.of(), arguments.toArray(new String[0]));
    }

    /** As Kubernetes projects it, but with a newline. */
    private Path token(RSAKey key) throws Exception {
        String token = JwtIssuer.signed(key, JwtIssuer.claims(Instant.now().plusSeconds(3_600)));
        return Files.writeString(home.resolve("token-" + key.getKeyID()), token + "\n");
    }

    private static Optional<Reason> call(ServerProcess server, Path token) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "127.0.0.1",
                        server.port(),
                        CompositeChannelCredentials.create(
                                InsecureChannelCredentials.create(), BearerTokenFile.at(token)))
                .build();
        try {
            var unused = LocksGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(60, TimeUnit.SECONDS)
                    .describe(DescribeRequest.newBuilder().setLock("jobs/1").build());
            return Optional.empty();
        } catch (StatusRuntimeException e) {
            return Optional.of(Rejections.ofThrowable(e)
                    .orElseThrow(() -> new AssertionError("no ErrorInfo", e))
                    .reason());
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void aProcessTakesKeysFromAUrlAndSaysWhenItIsGone() throws Exception {
        HttpServer issuer = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        issuer.createContext("/jwks", exchange -> {
            byte[] keys = JwtIssuer.jwks(OLD).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, keys.length);
            exchange.getResponseBody().write(keys);
            exchange.close();
        });
        issuer.start();
        String url = "http://127.0.0.1:" + issuer.getAddress().getPort() + "/jwks";
        Path good = token(OLD);
        Path wrong = token(NEW);
        StringBuilder shown = new StringBuilder();
        try (ServerProcess server = accepting(url)) {
            assertThat(call(server, good)).isEmpty();
            assertThat(call(server, wrong)).contains(Reason.UNAUTHENTICATED);
            shown.append(server.out()).append(server.err());
        } finally {
            issuer.stop(0);
        }
        assertThat(shown.toString())
                .contains("JWTs of https://login.example.org for audience locks, keys of " + url)
                .contains("its key is not one of the issuer's");
        try (ServerProcess server = accepting(url)) {
            await().atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(server.out() + server.err())
                            .contains("event=access_file_unusable", url + " cannot be fetched", "JWTs are refused"));
            assertThat(call(server, good)).contains(Reason.UNAUTHENTICATED);
            shown.append(server.out()).append(server.err());
        }
        for (Path token : List.of(good, wrong)) {
            String secret = Files.readString(token).strip();
            assertThat(shown.toString()).doesNotContain(secret, secret.split("\\.", -1)[2]);
        }
    }

    private ServerProcess accepting(String jwks) throws Exception {
        return server("--jwt-issuer", JwtIssuer.ISSUER, "--jwt-audience", JwtIssuer.AUDIENCE, "--jwt-jwks", jwks);
    }

    @Test
    void eachMistakeOfTheOptionsIsOneLine() throws Exception {
        Path jwks = Files.writeString(home.resolve("jwks.json"), "{}");
        List<String> whole = List.of("--jwt-issuer", "https://i", "--jwt-audience", "a", "--jwt-jwks", jwks.toString());
        assertMistake(2, "--jwt-issuer needs --jwt-audience and --jwt-jwks too", List.of("--jwt-jwks", "x"));
        assertMistake(2, "--jwt-clock-skew is 6m; use 0s to 5m", whole, "--jwt-clock-skew", "6m");
        assertMistake(2, "--jwt-jwks is fetched without TLS", whole.subList(0, 4), "--jwt-jwks", "http://192.0.2.1/");
        assertMistake(3, "jwks.json is no JWK set", whole);
    }

    private void assertMistake(int code, String message, List<String> options, String... more) throws Exception {
        List<String> all = new ArrayList<>(options);
        all.addAll(List.of(more));
        try (ServerProcess server = server(all.toArray(new String[0]))) {
            assertThat(server.exitCode()).isEqualTo(code);
            assertThat(server.err()).contains(message);
        }
    }
}
