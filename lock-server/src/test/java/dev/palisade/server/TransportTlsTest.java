package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.server.core.Limits;
import dev.palisade.server.metrics.Listener;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real TLS handshakes with the transport of a lock server. */
class TransportTlsTest {
    private static final TestAuthority AUTHORITY = TestAuthority.named("authority");
    private static final TestAuthority CLIENTS = TestAuthority.named("authority of clients");
    private static final TestAuthority STRANGERS = TestAuthority.named("authority of strangers");
    private static final TestCertificate SERVER = AUTHORITY.server();
    private static final TestCertificate WORKER = CLIENTS.client("worker");

    private final Transport transport = Transport.own();
    private final List<String> events = new CopyOnWriteArrayList<>();
    private final ConnectionLimit connections =
            new ConnectionLimit(100, new EventLog(events::add, () -> 0, 10), peer -> {});
    private final List<ManagedChannel> channels = new ArrayList<>();

    @TempDir
    Path folder;

    private @Nullable Server server;
    private Path certificate;
    private Path key;
    private Path clientAuthorities;

    @BeforeEach
    void writeFiles() {
        certificate = SERVER.writeCertificate(folder.resolve("server.pem"));
        key = SERVER.writeKey(folder.resolve("server.key"));
        clientAuthorities = CLIENTS.write(folder.resolve("clients.pem"));
    }

    @AfterEach
    void stop() {
        channels.forEach(ManagedChannel::shutdownNow);
        if (server != null) {
            server.shutdownNow();
        }
        transport.close();
    }

    @Test
    void aClientThatKnowsTheAuthorityIsServed() throws Exception {
        start(null);
        assertThat(call(client(AUTHORITY, null))).isEqualTo(ServingStatus.SERVING);
    }

    @Test
    void aClientInPlaintextIsRefused() throws Exception {
        start(null);
        assertRefused(InsecureChannelCredentials.create());
        Awaitility.await().until(() -> connections.handshakes().failed(Listener.LOCKS) > 0);
        Awaitility.await()
                .untilAsserted(() -> assertThat(events)
                        .anyMatch(line -> line.contains("event=tls_handshake_failed listener=locks peer=/127.0.0.1:")
                                && line.contains("not an SSL/TLS record")));
    }

    @Test
    void handshakeThatSucceedsIsNotCounted() throws Exception {
        start(null);
        assertThat(call(client(AUTHORITY, null))).isEqualTo(ServingStatus.SERVING);
        assertThat(connections.handshakes().failed(Listener.LOCKS)).isZero();
    }

    @Test
    void aServerOfAnotherAuthorityIsRefusedByTheClient() throws Exception {
        start(null);
        assertRefused(client(STRANGERS, null));
    }

    @Test
    void aServerOfAnotherNameIsRefusedByTheClient() throws Exception {
        TestCertificate other = AUTHORITY.serverNamed("elsewhere.example");
        other.writeCertificate(certificate);
        other.writeKey(key);
        start(null);
        assertRefused(client(AUTHORITY, null));
    }

    @Test
    void aClientHasToPresentACertificate() throws Exception {
        start(clientAuthorities);
        assertRefused(client(AUTHORITY, null));
        assertThat(call(client(AUTHORITY, WORKER))).isEqualTo(ServingStatus.SERVING);
    }

    @Test
    void aClientOfAnotherAuthorityIsRefused() throws Exception {
        start(clientAuthorities);
        assertRefused(client(AUTHORITY, STRANGERS.client("worker")));
    }

    @Test
    void aNewConnectionSeesTheNewCertificate() throws Exception {
        ReloadableTls tls = start(null);
        assertThat(presented()).isEqualTo(SERVER.certificate());
        TestCertificate next = AUTHORITY.server();
        next.writeCertificate(certificate);
        assertThat(tls.reload(Instant.now()).identity()).isFalse();
        assertThat(presented()).isEqualTo(SERVER.certificate());
        next.writeKey(key);
        assertThat(tls.reload(Instant.now()).identity()).isFalse();
        assertThat(tls.reload(Instant.now()).identity()).isTrue();
        assertThat(presented()).isEqualTo(next.certificate());
    }

    @Test
    void aClientOfAnAuthorityThatIsGoneIsCutOff() throws Exception {
        ReloadableTls tls = start(clientAuthorities);
        ManagedChannel worker = channel(client(AUTHORITY, WORKER));
        assertThat(call(worker)).isEqualTo(ServingStatus.SERVING);
        STRANGERS.write(clientAuthorities);
        tls.reload(Instant.now());
        assertThat(tls.reload(Instant.now()).authorities()).isTrue();
        connections.closeAll();
        // The connection may end during a call, and the client's next one resumes the TLS session.
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 1_000; i++) {
                        call(worker);
                    }
                })
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> assertThat(e.getStatus().getCode())
                                .isIn(Status.Code.UNAVAILABLE, Status.Code.UNAUTHENTICATED));
        assertRefused(client(AUTHORITY, WORKER));
        assertRefused(worker);
        assertThat(call(client(AUTHORITY, STRANGERS.client("worker")))).isEqualTo(ServingStatus.SERVING);
    }

    @Test
    void openStreamOfAClientOfAnAuthorityThatIsGoneIsCutOff() throws Exception {
        ReloadableTls tls = start(clientAuthorities);
        Iterator<HealthCheckResponse> stream = HealthGrpc.newBlockingStub(channel(client(AUTHORITY, WORKER)))
                .watch(HealthCheckRequest.getDefaultInstance());
        assertThat(stream.next().getStatus()).isEqualTo(ServingStatus.SERVING);
        STRANGERS.write(clientAuthorities);
        tls.reload(Instant.now());
        assertThat(tls.reload(Instant.now()).authorities()).isTrue();
        connections.closeAll();
        // A session is such a stream: it has no end of its own.
        assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> assertThatThrownBy(stream::hasNext)
                        .isInstanceOfSatisfying(
                                StatusRuntimeException.class,
                                e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE)));
    }

    /** The certificate that a client sees that accepts all, and nothing older than TLS 1.2. */
    private X509Certificate presented() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new TrustAll()}, null);
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), started().getPort())) {
            socket.startHandshake();
            assertThat(socket.getSession().getProtocol()).isIn("TLSv1.2", "TLSv1.3");
            return (X509Certificate) socket.getSession().getPeerCertificates()[0];
        }
    }

    private static final class TrustAll implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String algorithm) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String algorithm) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    private ReloadableTls start(@Nullable Path authorities) throws TlsUnusable, IOException {
        ReloadableTls tls = ReloadableTls.server(certificate, key, authorities, Instant.now());
        HealthStatusManager health = new HealthStatusManager();
        server = transport
                .listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        tls.serverCredentials(),
                        connections,
                        Limits.DEFAULTS)
                .intercept(tls.clientVerification())
                .addService(health.getHealthService())
                .build()
                .start();
        return tls;
    }

    private Server started() {
        return java.util.Objects.requireNonNull(server);
    }

    private ChannelCredentials client(TestAuthority trusted, @Nullable TestCertificate own) throws TlsUnusable {
        return ReloadableTls.client(
                        trusted.write(folder.resolve("trusted.pem")),
                        own == null ? null : own.writeCertificate(folder.resolve("client.pem")),
                        own == null ? null : own.writeKey(folder.resolve("client.key")),
                        Instant.now())
                .channelCredentials();
    }

    private void assertRefused(ChannelCredentials credentials) {
        assertRefused(channel(credentials));
    }

    private static void assertRefused(ManagedChannel channel) {
        assertThatThrownBy(() -> call(channel))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> assertThat(e.getStatus().getCode())
                                .isIn(Status.Code.UNAVAILABLE, Status.Code.UNAUTHENTICATED));
    }

    private ManagedChannel channel(ChannelCredentials credentials) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "localhost", started().getPort(), credentials)
                .build();
        channels.add(channel);
        return channel;
    }

    private ServingStatus call(ChannelCredentials credentials) {
        return call(channel(credentials));
    }

    private static ServingStatus call(ManagedChannel channel) {
        return HealthGrpc.newBlockingStub(channel)
                .withDeadlineAfter(60, TimeUnit.SECONDS)
                .check(HealthCheckRequest.getDefaultInstance())
                .getStatus();
    }
}
