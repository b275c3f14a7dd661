package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.LockUnavailableException;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Targets, credentials and the channel hook, over real connections. */
@Timeout(120)
class ChannelSetupTest {
    private static final Metadata.Key<String> TENANT = Metadata.Key.of("tenant", Metadata.ASCII_STRING_MARSHALLER);

    private static final String PASSWORD = "changeit";

    private static KeyStore keys;

    private final ScriptedServer script = new ScriptedServer();
    private final List<String> tenants = new CopyOnWriteArrayList<>();
    private final List<Server> servers = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        servers.forEach(Server::shutdownNow);
        script.close();
    }

    @Test
    void locksAreTakenOverTls() throws Exception {
        String address = "localhost:" + serve(tls());
        try (PalisadeClient client =
                quick().servers(address).credentials(trusting()).build()) {
            client.acquire("orders/42").close();
            assertThat(client.isConnected()).isTrue();
        }
    }

    @Test
    void aTargetIsConnectedOverTls() throws Exception {
        String target = "dns:///localhost:" + serve(tls());
        try (PalisadeClient client =
                quick().target(target).credentials(trusting()).build()) {
            client.acquire("orders/42").close();
        }
    }

    @Test
    void plaintextDoesNotReachATlsServer() throws Exception {
        try (PalisadeClient client =
                quick().servers("localhost:" + serve(tls())).build()) {
            assertThatThrownBy(() -> client.acquire("orders/42", AcquireOptions.trying()))
                    .isInstanceOf(LockUnavailableException.class);
            assertThat(client.isConnected()).isFalse();
        }
    }

    @Test
    void aCertificateThatIsNotTrustedIsRefusedAndNamed() throws Exception {
        try (PalisadeClient client = quick().servers("localhost:" + serve(tls()))
                .credentials(TlsChannelCredentials.create())
                .build()) {
            assertThatThrownBy(() -> client.acquire("orders/42", AcquireOptions.trying()))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("issued by an authority that is not trusted here");
        }
    }

    @Test
    void aServerUnderAnotherNameIsRefusedUnlessTheChannelSaysSo() throws Exception {
        String address = "127.0.0.2:" + serve(tls());
        try (PalisadeClient client =
                quick().servers(address).credentials(trusting()).build()) {
            assertThatThrownBy(() -> client.acquire("orders/42", AcquireOptions.trying()))
                    .isInstanceOf(LockUnavailableException.class);
        }
        try (PalisadeClient client = quick().servers(address)
                .credentials(trusting())
                .channel(channel -> channel.overrideAuthority("localhost"))
                .build()) {
            client.acquire("orders/42").close();
        }
    }

    @Test
    void anInterceptorOfTheChannelSeesStreamAndUnaryCalls() throws Exception {
        Metadata headers = new Metadata();
        headers.put(TENANT, "shop");
        try (PalisadeClient client = quick().servers("127.0.0.1:" + serve(InsecureServerCredentials.create()))
                .channel(channel -> channel.intercept(MetadataUtils.newAttachHeadersInterceptor(headers)))
                .build()) {
            client.acquire("orders/42").close();
            assertThat(tenants).containsExactly("shop");
            assertThatThrownBy(() -> client.operations().barrier("orders/42"))
                    .as("the script has no such call")
                    .isInstanceOf(LockUnavailableException.class);
            assertThat(tenants).hasSizeGreaterThan(1).containsOnly("shop");
        }
    }

    @Test
    void aChannelThatCannotBeBuiltFailsBuildAndLeavesNoThread() {
        PalisadeClient.Builder builder = quick().servers("a:1", "b:2").channel(channel -> {
            throw new IllegalArgumentException("no such limit");
        });
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("no such limit");
        await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("palisade-client")));
    }

    @Test
    void connectionStateFollowsTheStream() throws Exception {
        int port = serve(InsecureServerCredentials.create());
        PalisadeClient client = quick().servers("127.0.0.1:" + port).build();
        await().until(client::isConnected);
        servers.get(0).shutdownNow();
        await().until(() -> !client.isConnected());
        int unused = serve(InsecureServerCredentials.create(), port);
        await().until(client::isConnected);
        client.close();
        assertThat(client.isConnected()).isFalse();
    }

    private static PalisadeClient.Builder quick() {
        return PalisadeClient.builder().callTimeout(Duration.ofSeconds(2));
    }

    private int serve(ServerCredentials credentials) throws IOException {
        return serve(credentials, 0);
    }

    private int serve(ServerCredentials credentials, int port) throws IOException {
        Server server = NettyServerBuilder.forAddress(
                        new InetSocketAddress(InetAddress.getByAddress(new byte[4]), port), credentials)
                .directExecutor()
                .addService(script)
                .intercept(new ServerInterceptor() {
                    @Override
                    public <Q, A> ServerCall.Listener<Q> interceptCall(
                            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
                        tenants.add(String.valueOf(headers.get(TENANT)));
                        return next.startCall(call, headers);
                    }
                })
                .build()
                .start();
        servers.add(server);
        return server.getPort();
    }

    private static ServerCredentials tls() throws GeneralSecurityException {
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD.toCharArray());
        return TlsServerCredentials.newBuilder()
                .keyManager(factory.getKeyManagers())
                .build();
    }

    private static ChannelCredentials trusting() throws GeneralSecurityException, IOException {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        trusted.setCertificateEntry("server", keys.getCertificate("server"));
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(trusted);
        return TlsChannelCredentials.newBuilder()
                .trustManager(factory.getTrustManagers())
                .build();
    }

    /** A self-signed certificate for localhost, by the JDK's keytool. */
    @BeforeAll
    static void makeCertificate(@TempDir Path dir) throws Exception {
        Path store = dir.resolve("store.p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keystore",
                        store.toString(),
                        "-storepass",
                        PASSWORD,
                        "-alias",
                        "server",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=Palisade for tests",
                        "-ext",
                        "san=dns:localhost")
                .inheritIO()
                .start();
        assertThat(keytool.waitFor()).isZero();
        keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    }
}
