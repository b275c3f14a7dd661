package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation.Service;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.net.ssl.SSLSocket;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A lock server that listens with TLS, and the commands that call it; all by the packaged jars. */
@Execution(ExecutionMode.SAME_THREAD)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TlsIT {
    private static final TestAuthority AUTHORITY = TestAuthority.named("authority");
    private static final TestAuthority OTHER = TestAuthority.named("other authority");
    private static final TestCertificate SERVER = AUTHORITY.server();
    private static final TestCertificate CLIENT = AUTHORITY.client("worker");

    @TempDir
    static Path folder;

    private static Map<String, String> verified;
    private static Shell shell;

    @BeforeAll
    static void start() {
        Path authority = AUTHORITY.write(folder.resolve("authority.pem"));
        verified = Map.of(
                "PALISADE_CACERT",
                authority.toString(),
                "PALISADE_CERT",
                CLIENT.writeCertificate(folder.resolve("client.pem")).toString(),
                "PALISADE_KEY",
                CLIENT.writeKey(folder.resolve("client.key")).toString());
        shell = new Shell(
                "--tls-cert",
                SERVER.writeCertificate(folder.resolve("server.pem")).toString(),
                "--tls-key",
                SERVER.writeKey(folder.resolve("server.key")).toString(),
                "--tls-client-ca",
                authority.toString());
    }

    @AfterAll
    static void close() {
        shell.close();
    }

    /** {@code palisade list} in this process, with the files of {@code settings} as options. */
    private static Shell.Ran listed(Map<String, String> settings) {
        List<String> arguments = new ArrayList<>(List.of("list"));
        settings.forEach((variable, value) ->
                arguments.add("--" + variable.substring("PALISADE_".length()).toLowerCase(Locale.ROOT) + "=" + value));
        return shell.here(arguments.toArray(new String[0]));
    }

    @Test
    void everyVerbCallsWithTheFilesOfTheSettings() throws Exception {
        Shell.Ran ran = shell.run(verified, "run", "job", "--", "sh", "-c", "echo $PALISADE_LOCK");
        assertThat(ran.err()).isEmpty();
        assertThat(ran.out()).containsExactly("job");
        assertThat(shell.run(verified, "history", "job").out()).isNotEmpty();
    }

    @Test
    void aCallThatIsRefusedSaysWhy() {
        String authority = verified.get("PALISADE_CACERT");
        assertRefused("it closed the connection; if it listens with TLS, call it with TLS", Map.of());
        assertRefused(
                "its certificate was issued by an authority that is not trusted here", Map.of("PALISADE_TLS", "true"));
        assertRefused(
                "it wants a client certificate of an authority that it trusts", Map.of("PALISADE_CACERT", authority));
        TestCertificate stranger = OTHER.client("worker");
        assertRefused(
                "it wants a client certificate of an authority that it trusts",
                Map.of(
                        "PALISADE_CACERT",
                        authority,
                        "PALISADE_CERT",
                        stranger.writeCertificate(folder.resolve("stranger.pem"))
                                .toString(),
                        "PALISADE_KEY",
                        stranger.writeKey(folder.resolve("stranger.key")).toString()));
    }

    private void assertRefused(String why, Map<String, String> environment) {
        Shell.Ran ran = listed(environment);
        assertThat(ran.code()).isEqualTo(3);
        assertThat(ran.err()).singleElement().asString().contains(why);
    }

    @Test
    void aFileThatCannotBeUsedIsNamedBeforeAnyCall() {
        Shell.Ran ran = shell.here("list", "--cacert", "no-such-file.pem");
        assertThat(ran.code()).isEqualTo(2);
        assertThat(ran.err()).containsExactly("palisade list: TLS file no-such-file.pem does not exist");
        ran = shell.here("run", "job", "--cert", folder.resolve("client.pem").toString(), "--", "true");
        assertThat(ran.code()).isEqualTo(2);
        assertThat(ran.err()).containsExactly("palisade run: --cert needs --key too (see --help)");
    }

    @Test
    void theStorageListensWithTlsToo() throws Exception {
        Service objects = shell.installation()
                .objects(
                        "--tls-cert",
                        folder.resolve("server.pem").toString(),
                        "--tls-key",
                        folder.resolve("server.key").toString());
        try (Child child = objects.child();
                SSLSocket socket = (SSLSocket) AUTHORITY
                        .context(null)
                        .getSocketFactory()
                        .createSocket(InetAddress.getLoopbackAddress(), Integer.parseInt(objects.port()))) {
            assertThat(child.pid()).isPositive();
            socket.startHandshake();
            assertThat(socket.getSession().getPeerCertificates()).containsExactly(SERVER.certificate());
        }
    }

    /** The last, because the others' server is not trusted after it. */
    @Test
    @Order(Integer.MAX_VALUE)
    void aNewCertificateIsUsedWithoutARestart() {
        Map<String, String> other = Map.of(
                "PALISADE_CACERT",
                OTHER.write(folder.resolve("other.pem")).toString(),
                "PALISADE_CERT",
                verified.get("PALISADE_CERT"),
                "PALISADE_KEY",
                verified.get("PALISADE_KEY"));
        assertThat(listed(other).code()).isEqualTo(3);
        TestCertificate next = OTHER.server();
        next.writeCertificate(folder.resolve("server.pem"));
        next.writeKey(folder.resolve("server.key"));
        Awaitility.await().atMost(Shell.PATIENCE).until(() -> listed(other).code() == 0);
        assertThat(listed(verified).code()).isEqualTo(3);
    }
}
