package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.server.access.AccessControl;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients of the admin port whose authority was withdrawn, and which resume their TLS session. */
class AdminTlsTest {
    private static final TestAuthority AUTHORITY = TestAuthority.named("first");
    private static final TestAuthority NEXT = TestAuthority.named("next");

    @TempDir
    Path folder;

    private static String asked(AdminServed admin, SSLContext context, String protocol, @Nullable String token)
            throws IOException {
        // The host and the port are by what a client finds its session again.
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", admin.port.port())) {
            socket.setEnabledProtocols(new String[] {protocol});
            socket.setSoTimeout(60_000);
            String request = "GET /api/v1/store HTTP/1.1\r\nHost: localhost\r\n"
                    + (token == null ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return AdminServed.rest(socket);
        }
    }

    private void withdrawnClientIsRefused(String protocol, @Nullable AccessControl access, @Nullable String token)
            throws Exception {
        TestCertificate server = AUTHORITY.server();
        Path authorities = AUTHORITY.write(folder.resolve("clients.pem"));
        ReloadableTls tls = ReloadableTls.server(
                server.writeCertificate(folder.resolve("server.pem")),
                server.writeKey(folder.resolve("server-key.pem")),
                authorities,
                Instant.now());
        SSLContext client = AUTHORITY.context(AUTHORITY.client("worker"));
        try (AdminServed admin = new AdminServed(folder.resolve("locks"), access, AdminPort.Times.DEFAULTS, tls)) {
            assertThat(asked(admin, client, protocol, token)).startsWith("HTTP/1.1 200 ");
            NEXT.write(authorities);
            boolean isReplaced = false;
            for (int i = 0; i < 3 && !isReplaced; i++) {
                isReplaced = tls.reload(Instant.now()).authorities();
            }
            assertThat(isReplaced).isTrue();
            assertThat(asked(admin, client, protocol, token))
                    .as("a resumed session")
                    .startsWith("HTTP/1.1 401 ")
                    .contains(ClientVerification.REFUSAL);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
    void withdrawnAuthorityEndsResumedSessionsWithoutAPolicy(String protocol) throws Exception {
        withdrawnClientIsRefused(protocol, null, null);
    }

    @Test
    void withdrawnAuthorityEndsResumedSessionsWithATokenToo() throws Exception {
        AdminUsers users = new AdminUsers(folder, List.of("allow alice * *"));
        String token = users.add("alice");
        withdrawnClientIsRefused("TLSv1.2", users.load(), token);
    }
}
