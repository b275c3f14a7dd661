package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.Policy;
import dev.palisade.server.engine.RejectionCounts;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.time.Instant;
import javax.net.ssl.SSLSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CertificateAccessTest {
    private static final TestAuthority AUTHORITY = TestAuthority.named("authority");

    /** A resumed session has the certificate of before, and no handshake verifies it again. */
    @Test
    void aResumedSessionOfAFormerAuthorityIsRefused(@TempDir Path folder) throws Exception {
        TestCertificate server = AUTHORITY.server();
        Path ca = AUTHORITY.write(folder.resolve("ca.pem"));
        ReloadableTls tls = ReloadableTls.server(
                server.writeCertificate(folder.resolve("server.pem")),
                server.writeKey(folder.resolve("server.key")),
                ca,
                Instant.now());
        Path policy = Files.writeString(folder.resolve("policy"), "allow dns:worker operate *\n");
        Authentication authentication = new Authentication(
                new AccessControl(new AccessFile<>(policy, false, Policy::parse), null, null, () -> 1),
                tls.clientVerification(),
                EventLog.NONE,
                new RejectionCounts());
        InetSocketAddress here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
        SSLSession resumed = session(AUTHORITY.client("worker"));
        assertThatCode(() -> authentication.requireOperator(null, resumed, here))
                .doesNotThrowAnyException();
        TestAuthority.named("another").write(ca);
        tls.reload(Instant.now());
        tls.reload(Instant.now());
        assertThatThrownBy(() -> authentication.requireOperator(null, resumed, here))
                .hasMessageContaining(ClientVerification.REFUSAL);
    }

    @Test
    void anExpiredCertificateIsRefusedAlsoWhereItWasVerifiedBefore(@TempDir Path folder) throws Exception {
        TestCertificate server = AUTHORITY.server();
        ReloadableTls tls = ReloadableTls.server(
                server.writeCertificate(folder.resolve("server.pem")),
                server.writeKey(folder.resolve("server.key")),
                AUTHORITY.write(folder.resolve("ca.pem")),
                Instant.now());
        TestCertificate client = AUTHORITY.client("worker");
        SSLSession session = session(client);
        Instant end = client.certificate().getNotAfter().toInstant();
        assertThat(tls.clientVerification().refusal(session, end.minusMillis(1)))
                .isEmpty();
        assertThat(tls.clientVerification().refusal(session, end))
                .hasValue("the client's certificate expired at " + end + "; connect again with a new one");
    }

    private static SSLSession session(TestCertificate client) {
        Certificate[] chain = {client.certificate()};
        return (SSLSession) Proxy.newProxyInstance(
                CertificateAccessTest.class.getClassLoader(),
                new Class<?>[] {SSLSession.class},
                (session, method, arguments) -> method.getName().equals("getPeerCertificates") ? chain : null);
    }
}
