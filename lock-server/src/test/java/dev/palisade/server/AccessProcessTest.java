package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import io.grpc.CallCredentials;
import io.grpc.ChannelCredentials;
import io.grpc.CompositeChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.util.AdvancedTlsX509KeyManager;
import java.io.File;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.HttpsURLConnection;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes: the commands of the guide, files that change, and secrets that are shown nowhere. */
class AccessProcessTest {
    private static final int WRONG_LOGINS = 10_000;

    @TempDir
    Path home;

    private final List<ManagedChannel> channels = new ArrayList<>();
    private final StringBuilder shown = new StringBuilder();
    private Path policy;
    private Path users;

    @BeforeEach
    void write() throws Exception {
        users = home.resolve("users");
        policy = Files.writeString(home.resolve("policy.conf"), "allow web acquire,describe orders/*\nallow ops * *\n");
    }

    @AfterEach
    void close() {
        channels.forEach(ManagedChannel::shutdownNow);
    }

    private Path token(String name) throws Exception {
        String out = run(0, "users", "add", name, "--users", users.toString());
        shown.setLength(0); // This output alone has the token.
        assertThat(out).matches("palisade_[A-Za-z0-9_-]{43}\\R");
        return Files.writeString(home.resolve(name + "-token"), out);
    }

    /** A command to its end; returns what it printed. */
    private String run(int exitCode, String... arguments) throws Exception {
        try (ServerProcess process = ServerProcess.start(home, Map.of(), arguments)) {
            assertThat(process.exitCode()).as("%s", process.err()).isEqualTo(exitCode);
            shown.append(process.out()).append(process.err());
            return exitCode == 3 ? process.err() : process.out();
        }
    }

    private ServerProcess server(String... more) throws Exception {
        List<String> arguments = new ArrayList<>(
                List.of("server", "--port", "0", "--policy", policy.toString(), "--users", users.toString()));
        arguments.addAll(List.of(more));
        return ServerProcess.start(home, Map.of(), arguments.toArray(new String[0]));
    }

    private ManagedChannel channel(String host, int port, @Nullable CallCredentials token, ChannelCredentials plain) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        host, port, token == null ? plain : CompositeChannelCredentials.create(plain, token))
                .build();
        channels.add(channel);
        return channel;
    }

    private LocksGrpc.LocksBlockingStub with(ServerProcess server, @Nullable Path token) {
        return LocksGrpc.newBlockingStub(channel(
                "127.0.0.1",
                server.port(),
                token == null ? null : BearerTokenFile.at(token),
                InsecureChannelCredentials.create()));
    }

    private static Optional<Reason> acquire(LocksGrpc.LocksBlockingStub stub, String lock) {
        byte[] session = new byte[16];
        session[0] = 1;
        try {
            var unused = stub.withDeadlineAfter(60, TimeUnit.SECONDS)
                    .acquire(AcquireRequest.newBuilder()
                            .setLock(lock)
                            .setMode(Mode.EXCLUSIVE)
                            .setRequestId(1)
                            .setSessionId(ByteString.copyFrom(session))
                            .build());
            return Optional.empty();
        } catch (StatusRuntimeException e) {
            return Optional.of(Rejections.ofThrowable(e)
                    .map(Rejection::reason)
                    .orElseThrow(() -> new AssertionError("no ErrorInfo", e)));
        }
    }

    @Test
    void theGuideWorksAndShowsNoToken() throws Exception {
        Path web = token("web");
        Path ops = token("ops");
        assertThat(run(0, "policy", "check", policy.toString())).contains("2 lines that allow");
        assertThat(run(
                        1,
                        "policy",
                        "check",
                        policy.toString(),
                        "--as",
                        "web",
                        "--verb",
                        "force-release",
                        "--lock",
                        "a"))
                .startsWith("denied: web force-release 'a'");
        assertThat(run(
                        0,
                        "policy",
                        "check",
                        policy.toString(),
                        "--as",
                        "web",
                        "--verb",
                        "acquire",
                        "--lock",
                        "orders/1"))
                .startsWith("allowed: ");
        try (ServerProcess server = server()) {
            assertThat(acquire(with(server, null), "orders/1")).contains(Reason.UNAUTHENTICATED);
            assertThat(acquire(with(server, web), "orders/1")).isEmpty();
            assertThat(acquire(with(server, web), "invoices/1")).contains(Reason.PERMISSION_DENIED);
            assertThat(acquire(with(server, ops), "invoices/1")).isEmpty();
            assertThat(HealthGrpc.newBlockingStub(
                                    channel("127.0.0.1", server.port(), null, InsecureChannelCredentials.create()))
                            .withDeadlineAfter(60, TimeUnit.SECONDS)
                            .check(HealthCheckRequest.getDefaultInstance())
                            .getStatus())
                    .isEqualTo(ServingStatus.SERVING);
            replaceFiles(server, web);
            flood(server, ops);
            shown.append(server.out()).append(server.err());
        }
        for (Path token : List.of(web, ops)) {
            String secret = Files.readString(token).strip();
            assertThat(shown.toString()).doesNotContain(secret, secret.substring("palisade_".length()));
        }
        assertThat(shown.toString()).doesNotContain("wrong-secret");
    }

    private void replaceFiles(ServerProcess server, Path web) throws Exception {
        Files.writeString(policy, "alow web acquire invoices/*\nallow web aquire invoices/*\n");
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(server.out() + server.err())
                        .contains(
                                "policy.conf:1: 'alow'", "policy.conf:2: 'aquire'", "the last good one stays in use"));
        assertThat(acquire(with(server, web), "orders/1")).isEmpty();
        Files.writeString(policy, "allow web acquire invoices/*\nallow ops * *\n");
        LocksGrpc.LocksBlockingStub stub = with(server, web);
        await().atMost(Duration.ofMinutes(1))
                .until(() -> acquire(stub, "orders/1").equals(Optional.of(Reason.PERMISSION_DENIED)));
        assertThat(acquire(stub, "invoices/2")).isEmpty();
    }

    /** Wrong logins, one after another on one connection, with a good client beside them. */
    private void flood(ServerProcess server, Path ops) throws Exception {
        Metadata wrong = new Metadata();
        wrong.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer wrong-secret");
        LocksGrpc.LocksBlockingStub stranger =
                with(server, null).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(wrong));
        LocksGrpc.LocksBlockingStub good = with(server, ops);
        for (int i = 0; i < WRONG_LOGINS; i++) {
            assertThat(acquire(stranger, "orders/1")).contains(Reason.UNAUTHENTICATED);
            if (i % 1_000 == 0) {
                assertThat(acquire(good, "flood/" + i)).isEmpty();
            }
        }
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(server.out() + server.err()).contains("not_shown="));
        assertThat((server.out() + server.err())
                        .lines()
                        .filter(line -> line.contains("reason=UNAUTHENTICATED"))
                        .count())
                .isBetween(10L, WRONG_LOGINS / 2L);
    }

    @Test
    void allMistakesOfAPolicyAreReportedAtTheStart() throws Exception {
        token("web");
        Files.writeString(policy, "alow web acquire x\nallow web aquire x\nallow @gone acquire x\n");
        try (ServerProcess server = server()) {
            assertThat(server.exitCode()).isEqualTo(3);
            assertThat(server.err().lines())
                    .satisfiesExactly(
                            line -> assertThat(line).startsWith(policy + ":1: 'alow'"),
                            line -> assertThat(line).startsWith(policy + ":2: 'aquire'"),
                            line -> assertThat(line).startsWith("palisade server: " + policy + ":3: no group"));
        }
        assertThat(run(3, "policy", "check", policy.toString()).lines()).hasSize(3);
    }

    @Test
    void aTokenInPlaintextFromAnotherAddressIsRefused() throws Exception {
        Path ops = token("ops");
        Optional<InetAddress> other = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address instanceof java.net.Inet4Address && !address.isLoopbackAddress())
                .findFirst();
        org.junit.jupiter.api.Assumptions.assumeTrue(other.isPresent(), "this machine has loopback only");
        String secret = Files.readString(ops).strip();
        Metadata headers = new Metadata();
        headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + secret);
        try (ServerProcess server = server("--host", other.get().getHostAddress(), "--insecure")) {
            LocksGrpc.LocksBlockingStub stub = LocksGrpc.newBlockingStub(channel(
                            other.get().getHostAddress(), server.port(), null, InsecureChannelCredentials.create()))
                    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
            assertThat(acquire(stub, "x")).contains(Reason.UNAUTHENTICATED);
            assertThat(server.out() + server.err()).contains("without TLS").doesNotContain(secret);
        }
    }

    @Test
    void certificatesAndTokensNamePrincipalsUnderTls() throws Exception {
        TestAuthority authority = TestAuthority.named("authority");
        TestCertificate certificate = authority.server();
        TestCertificate client = authority.client("worker");
        Path ops = token("ops");
        Files.writeString(policy, "allow dns:worker acquire cert/*\nallow ops * *\n");
        File ca = authority.write(home.resolve("ca.pem")).toFile();
        try (ServerProcess server = server(
                "--tls-cert",
                certificate.writeCertificate(home.resolve("server.pem")).toString(),
                "--tls-key",
                certificate.writeKey(home.resolve("server.key")).toString(),
                "--tls-client-ca",
                ca.toString(),
                "--tls-client-auth",
                "optional",
                "--admin-port",
                "0")) {
            ChannelCredentials tls = TlsChannelCredentials.newBuilder()
                    .trustManager(ca)
                    .keyManager(
                            client.writeCertificate(home.resolve("client.pem")).toFile(),
                            client.writeKey(home.resolve("client.key")).toFile())
                    .build();
            var bare = LocksGrpc.newBlockingStub(channel("localhost", server.port(), null, tls));
            var both = LocksGrpc.newBlockingStub(channel("localhost", server.port(), BearerTokenFile.at(ops), tls));
            assertThat(acquire(bare, "cert/1")).isEmpty();
            assertThat(acquire(bare, "x")).contains(Reason.PERMISSION_DENIED);
            assertThat(acquire(both, "x")).isEmpty();
            withoutACertificate(server, authority, ca, ops);
            ofAnotherAuthority(server, ca, ops);
        }
    }

    private void withoutACertificate(ServerProcess server, TestAuthority authority, File ca, Path ops)
            throws Exception {
        ChannelCredentials tls =
                TlsChannelCredentials.newBuilder().trustManager(ca).build();
        var neither = LocksGrpc.newBlockingStub(channel("localhost", server.port(), null, tls));
        var token = LocksGrpc.newBlockingStub(channel("localhost", server.port(), BearerTokenFile.at(ops), tls));
        assertThat(acquire(neither, "cert/1")).contains(Reason.UNAUTHENTICATED);
        assertThat(acquire(token, "y")).isEmpty();
        assertThat(scrape(server, authority, null)).isEqualTo(401);
        assertThat(scrape(server, authority, Files.readString(ops).strip())).isEqualTo(200);
    }

    /** Its handshake fails, whatever its token. The JDK's own key manager would not present such a certificate. */
    private void ofAnotherAuthority(ServerProcess server, File ca, Path ops) throws Exception {
        TestCertificate stranger = TestAuthority.named("strangers").client("worker");
        AdvancedTlsX509KeyManager presented = new AdvancedTlsX509KeyManager();
        presented.updateIdentityCredentials(new X509Certificate[] {stranger.certificate()}, stranger.key());
        ChannelCredentials tls = TlsChannelCredentials.newBuilder()
                .trustManager(ca)
                .keyManager(presented)
                .build();
        var stub = LocksGrpc.newBlockingStub(channel("localhost", server.port(), BearerTokenFile.at(ops), tls))
                .withDeadlineAfter(60, TimeUnit.SECONDS);
        assertThatThrownBy(() -> stub.list(ListRequest.getDefaultInstance()))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE));
    }

    private static int scrape(ServerProcess server, TestAuthority authority, @Nullable String token) throws Exception {
        Matcher shown =
                Pattern.compile("https://127\\.0\\.0\\.1:(\\d+)/metrics").matcher(server.out());
        assertThat(shown.find()).as(server.out()).isTrue();
        HttpsURLConnection connection =
                (HttpsURLConnection) URI.create("https://localhost:" + shown.group(1) + "/metrics")
                        .toURL()
                        .openConnection();
        connection.setSSLSocketFactory(authority.context(null).getSocketFactory());
        if (token != null) {
            connection.setRequestProperty("Authorization", "Bearer " + token);
        }
        return connection.getResponseCode();
    }
}
