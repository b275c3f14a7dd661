package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.redis.TestRedis;
import dev.palisade.server.metrics.Scraped;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The admin port of a real process: what it shows, and to whom. */
class AdminProcessTest {
    private static final Pattern SHOWN = Pattern.compile("metrics and health at (\\S+)/metrics");

    @TempDir
    Path home;

    private static URI admin(ServerProcess server) {
        assertThat(server.port()).isPositive();
        Matcher shown = SHOWN.matcher(server.out());
        assertThat(shown.find()).as(server.out()).isTrue();
        return URI.create(shown.group(1));
    }

    private static HttpResponse<String> get(HttpClient client, URI uri, @Nullable String token) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(Duration.ofMinutes(1));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    static Stream<Arguments> stores() {
        return Stream.of(Arguments.of("embedded", List.of()), Arguments.of("redis", onRedis()));
    }

    private static List<String> onRedis() {
        TestRedis redis = TestRedis.get();
        return List.of(
                "--store", redis.uri(), "--store-prefix", redis.newPrefix(), "--init", "--advertise", "localhost:7600");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("stores")
    void aServerShowsWhatItsClientsDid(String store, List<String> options) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("server", "--port", "0", "--admin-port", "0"));
        arguments.addAll(options);
        try (ServerProcess server = ServerProcess.start(home, Map.of(), arguments.toArray(new String[0]))) {
            URI admin = admin(server);
            URI metrics = admin.resolve("/metrics");
            HttpClient client = HttpClient.newHttpClient();
            await().until(() ->
                    get(client, admin.resolve("/health/ready"), null).statusCode() == 200);
            useALock(server.port(), client, metrics);
            await().untilAsserted(() -> {
                HttpResponse<String> response = get(client, metrics, null);
                assertThat(response.body()).doesNotContain("secret-lock", "secret-owner");
                Scraped now = new Scraped(response.body());
                assertThat(now.value("palisade_leases_granted_total{mode=\"exclusive\"}"))
                        .isEqualTo(2);
                assertThat(now.value("palisade_leases_ended_total{end=\"released\"}"))
                        .isEqualTo(2);
                assertThat(now.value("palisade_hold_seconds_count{end=\"released\"}"))
                        .isEqualTo(2);
                assertThat(now.value("palisade_offers_total")).isEqualTo(1);
                assertThat(now.value("palisade_wait_seconds_count{end=\"offered\"}"))
                        .isEqualTo(1);
                assertThat(now.value("palisade_refusals_total{reason=\"NOT_HOLDER\"}"))
                        .isEqualTo(1);
                assertThat(now.value("palisade_store_up")).isEqualTo(1);
                assertThat(now.value("palisade_store_batch_count")).isPositive();
                assertThat(now.value("palisade_connections")).isZero();
                assertThat(now.value("palisade_epoch_start_timestamp_seconds")).isGreaterThan(1_000_000_000);
            });
        }
    }

    /** A grant, a wait for its release, a second grant, and a release by another session, which is rejected. */
    private static void useALock(int port, HttpClient client, URI metrics) throws Exception {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port, InsecureChannelCredentials.create())
                .build();
        try {
            LocksGrpc.LocksBlockingStub stub =
                    LocksGrpc.newBlockingStub(channel).withDeadlineAfter(60, TimeUnit.SECONDS);
            AcquireReply first = stub.acquire(acquire(1, 0));
            Future<AcquireReply> second = LocksGrpc.newFutureStub(channel)
                    .withDeadlineAfter(60, TimeUnit.SECONDS)
                    .acquire(acquire(2, 60_000));
            String queued = "palisade_acquire_seconds_count{outcome=\"queued\"}";
            await().until(() -> new Scraped(get(client, metrics, null).body()).value(queued) == 1);
            assertThatThrownBy(() -> {
                        var unused = stub.release(release(first, 2));
                    })
                    .isInstanceOf(StatusRuntimeException.class);
            var unused = stub.release(release(first, 1));
            var unusedToo = stub.release(release(second.get(60, TimeUnit.SECONDS), 2));
        } finally {
            var unused = channel.shutdown();
        }
    }

    private static AcquireRequest acquire(int session, long waitMillis) {
        return AcquireRequest.newBuilder()
                .setLock("secret-lock")
                .setOwner("secret-owner")
                .setMode(Mode.EXCLUSIVE)
                .setWaitMillis(waitMillis)
                .setRequestId(1)
                .setSessionId(session(session))
                .build();
    }

    private static ReleaseRequest release(AcquireReply reply, int session) {
        return ReleaseRequest.newBuilder()
                .setLock("secret-lock")
                .setGrantId(reply.getGranted().getGrantId())
                .setToken(reply.getGranted().getToken())
                .setSessionId(session(session))
                .build();
    }

    private static ByteString session(int last) {
        byte[] session = new byte[16];
        session[15] = (byte) last;
        return ByteString.copyFrom(session);
    }

    @Test
    void metricsNeedTheRightsOfAnOperatorAndUseTheServersCertificate() throws Exception {
        TestAuthority authority = TestAuthority.named("authority");
        TestCertificate certificate = authority.server();
        AdminUsers users = new AdminUsers(home, List.of("allow web acquire *", "allow ops operate *"));
        String ops = users.add("ops");
        String web = users.add("web");
        try (ServerProcess server = ServerProcess.start(
                home,
                Map.of(),
                "server",
                "--port",
                "0",
                "--admin-port",
                "0",
                "--policy",
                users.policy().toString(),
                "--users",
                users.file().toString(),
                "--tls-cert",
                certificate.writeCertificate(home.resolve("server.pem")).toString(),
                "--tls-key",
                certificate.writeKey(home.resolve("server.key")).toString())) {
            URI shown = admin(server);
            assertThat(shown.getScheme()).isEqualTo("https");
            URI admin = URI.create("https://localhost:" + shown.getPort());
            HttpClient client = HttpClient.newBuilder()
                    .sslContext(trusting(authority.write(home.resolve("ca.pem"))))
                    .build();
            URI metrics = admin.resolve("/metrics");
            HttpResponse<String> nobody = get(client, metrics, null);
            assertThat(nobody.statusCode()).isEqualTo(401);
            assertThat(nobody.headers().firstValue("www-authenticate")).hasValue("Bearer");
            assertThat(get(client, metrics, "palisade_wrong").statusCode()).isEqualTo(401);
            assertThat(get(client, metrics, web).statusCode()).isEqualTo(403);
            HttpResponse<String> seen = get(client, metrics, ops);
            assertThat(seen.statusCode()).isEqualTo(200);
            Scraped now = new Scraped(seen.body());
            assertThat(now.value("palisade_refusals_total{reason=\"UNAUTHENTICATED\"}"))
                    .isEqualTo(2);
            assertThat(now.value("palisade_refusals_total{reason=\"PERMISSION_DENIED\"}"))
                    .isEqualTo(1);
            assertThat(get(client, admin.resolve("/health/ready"), null).statusCode())
                    .isEqualTo(200);
            assertThat(server.out() + server.err()).doesNotContain(ops, web);
        }
    }

    private static SSLContext trusting(Path authorities) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var in = Files.newInputStream(authorities)) {
            store.setCertificateEntry(
                    "authority", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return context;
    }
}
