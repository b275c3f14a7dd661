package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.server.metrics.Scraped;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
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
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    @Test
    void aServerShowsWhatItsClientsDid() throws Exception {
        try (ServerProcess server = ServerProcess.start(home, Map.of(), "server", "--port", "0", "--admin-port", "0")) {
            URI admin = admin(server);
            HttpClient client = HttpClient.newHttpClient();
            assertThat(get(client, admin.resolve("/health/ready"), null).statusCode())
                    .isEqualTo(200);
            useALock(server.port());
            await().untilAsserted(() -> {
                HttpResponse<String> response = get(client, admin.resolve("/metrics"), null);
                assertThat(response.body()).doesNotContain("secret-lock", "secret-owner");
                Scraped now = new Scraped(response.body());
                assertThat(now.value("palisade_leases_granted_total{mode=\"exclusive\"}"))
                        .isEqualTo(1);
                assertThat(now.value("palisade_leases_ended_total{end=\"released\"}"))
                        .isEqualTo(1);
                assertThat(now.value("palisade_hold_seconds_count{end=\"released\"}"))
                        .isEqualTo(1);
                assertThat(now.value("palisade_refusals_total{reason=\"NOT_HOLDER\"}")
                                + now.value("palisade_refusals_total{reason=\"LEASE_EXPIRED\"}"))
                        .isEqualTo(1);
                assertThat(now.value("palisade_store_up")).isEqualTo(1);
                assertThat(now.value("palisade_connections")).isZero();
                assertThat(now.value("palisade_epoch_start_timestamp_seconds")).isGreaterThan(1_000_000_000);
            });
        }
    }

    /** Acquires and releases it, and releases it once more in another session, which is rejected. */
    private static void useALock(int port) throws Exception {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port, InsecureChannelCredentials.create())
                .build();
        try {
            LocksGrpc.LocksBlockingStub stub =
                    LocksGrpc.newBlockingStub(channel).withDeadlineAfter(60, TimeUnit.SECONDS);
            AcquireReply reply = stub.acquire(AcquireRequest.newBuilder()
                    .setLock("secret-lock")
                    .setOwner("secret-owner")
                    .setMode(Mode.EXCLUSIVE)
                    .setRequestId(1)
                    .setSessionId(session(1))
                    .build());
            ReleaseRequest release = ReleaseRequest.newBuilder()
                    .setLock("secret-lock")
                    .setGrantId(reply.getGranted().getGrantId())
                    .setToken(reply.getGranted().getToken())
                    .setSessionId(session(1))
                    .build();
            var unused = stub.release(release);
            org.assertj.core.api.Assertions.assertThatThrownBy(() -> {
                        var unusedReply = stub.release(
                                release.toBuilder().setSessionId(session(2)).build());
                    })
                    .isInstanceOf(io.grpc.StatusRuntimeException.class);
        } finally {
            var unused = channel.shutdown();
        }
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
        Path users = home.resolve("users");
        String ops = token(users, "ops");
        String web = token(users, "web");
        Path policy = Files.writeString(home.resolve("policy.conf"), "allow web acquire *\nallow ops operate *\n");
        try (ServerProcess server = ServerProcess.start(
                home,
                Map.of(),
                "server",
                "--port",
                "0",
                "--admin-port",
                "0",
                "--policy",
                policy.toString(),
                "--users",
                users.toString(),
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

    private String token(Path users, String name) throws Exception {
        try (ServerProcess process =
                ServerProcess.start(home, Map.of(), "users", "add", name, "--users", users.toString())) {
            assertThat(process.exitCode()).as("%s", process.err()).isZero();
            return process.out().strip();
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
