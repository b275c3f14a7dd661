package dev.palisade.contract.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.palisade.contract.EventLog;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReloadableTlsTest {
    private static final TestAuthority AUTHORITY = TestAuthority.named("authority");
    private static final TestCertificate SERVER = AUTHORITY.server();

    private final Instant now = Instant.now();

    @TempDir
    Path folder;

    private Path certificate;
    private Path key;
    private Path authorities;

    @BeforeEach
    void writeFiles() {
        certificate = SERVER.writeCertificate(folder.resolve("server.pem"));
        key = SERVER.writeKey(folder.resolve("server.key"));
        authorities = AUTHORITY.write(folder.resolve("authorities.pem"));
    }

    @Test
    void unchangedFilesChangeNothing() throws TlsUnusable {
        ReloadableTls tls = server();
        assertThat(tls.reload(now)).isEqualTo(nothing());
    }

    @Test
    void aNewPairIsUsed() throws TlsUnusable {
        ReloadableTls tls = server();
        TestCertificate next = AUTHORITY.server();
        next.writeCertificate(certificate);
        next.writeKey(key);
        assertThat(tls.reload(now)).isEqualTo(nothing());
        assertThat(tls.reload(now)).isEqualTo(new ReloadableTls.Reload(true, false, List.of(), List.of()));
        assertThat(tls.reload(now)).isEqualTo(nothing());
    }

    @Test
    void newAuthoritiesAreUsed() throws TlsUnusable {
        ReloadableTls tls = server();
        TestAuthority.named("next").write(authorities);
        assertThat(tls.reload(now)).isEqualTo(nothing());
        assertThat(tls.reload(now)).isEqualTo(new ReloadableTls.Reload(false, true, List.of(), List.of()));
    }

    /** A certificate is written before its key, so one look that finds the two apart says nothing yet. */
    @Test
    void halfOfAPairIsReportedOnceAtTheSecondLook() throws TlsUnusable {
        ReloadableTls tls = server();
        TestCertificate next = AUTHORITY.server();
        next.writeCertificate(certificate);
        assertThat(tls.reload(now)).isEqualTo(nothing());
        assertThat(tls.reload(now).problems())
                .containsExactly("TLS key " + key + " does not belong to certificate " + certificate
                        + "; name the key that the certificate was issued for");
        assertThat(tls.reload(now)).isEqualTo(nothing());
        next.writeKey(key);
        assertThat(tls.reload(now)).isEqualTo(nothing());
        assertThat(tls.reload(now).identity()).isTrue();
        assertThat(tls.isIdentityUsable()).isTrue();
    }

    @Test
    void aProblemThatComesBackIsReportedAgain() throws TlsUnusable, IOException {
        ReloadableTls tls = server();
        byte[] good = Files.readAllBytes(authorities);
        for (int i = 0; i < 2; i++) {
            Files.delete(authorities);
            assertThat(tls.reload(now).problems()).isEmpty();
            assertThat(tls.reload(now).problems()).containsExactly("TLS file " + authorities + " does not exist");
            assertThat(tls.areAuthoritiesUsable()).isFalse();
            Files.write(authorities, good);
            assertThat(tls.reload(now)).isEqualTo(nothing());
            assertThat(tls.reload(now).restored()).containsExactly(authorities);
            assertThat(tls.areAuthoritiesUsable()).isTrue();
        }
    }

    /** What is read of a bundle while it is written may be a bundle, too. */
    @Test
    void halfWrittenBundleIsNotUsed() throws TlsUnusable, IOException {
        ReloadableTls tls = server();
        String half = Files.readString(authorities);
        TestAuthority.named("next").write(authorities);
        String whole = half + Files.readString(authorities);
        Files.writeString(authorities, Files.readString(authorities));
        assertThat(tls.reload(now).authorities()).isFalse();
        Files.writeString(authorities, whole);
        assertThat(tls.reload(now).authorities()).isFalse();
        assertThat(tls.reload(now).authorities()).isTrue();
    }

    @Test
    void bundleWithoutAnAuthorityIsRefused() throws IOException {
        Files.copy(certificate, authorities, StandardCopyOption.REPLACE_EXISTING);
        assertRefused(authorities + " holds no certificate of an authority (basicConstraints CA:TRUE)");
    }

    @Test
    void endOfThePresentedCertificateIsKnown() throws TlsUnusable {
        Instant end = now.plus(Duration.ofDays(9)).truncatedTo(ChronoUnit.SECONDS);
        write(AUTHORITY.serverUntil(end));
        assertThat(server().expiresAt()).contains(end);
    }

    @Test
    void keyThatOthersCanReadIsAWarning() throws TlsUnusable, IOException {
        List<String> warnings = new ArrayList<>();
        EventLog events = new EventLog(line -> {}, warnings::add, () -> 0, 10);
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        server().warnOfReadableKey(events);
        assertThat(warnings).isEmpty();
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-r--r--"));
        server().warnOfReadableKey(events);
        assertThat(warnings).singleElement().asString().contains("event=tls_key_readable", "rw-r--r--", "chmod 600");
    }

    @Test
    void watchWarnsAndSurvivesWhatItCalls() throws TlsUnusable, IOException {
        List<String> lines = new ArrayList<>();
        List<String> warnings = new ArrayList<>();
        EventLog events = new EventLog(lines::add, warnings::add, () -> 0, 10);
        Runnable failing = () -> {
            throw new IllegalStateException("no event loop");
        };
        ReloadableTls tls = server();
        byte[] good = Files.readAllBytes(key);
        Files.delete(key);
        TestAuthority.named("next").write(authorities);
        tls.check(now, events, failing);
        tls.check(now, events, failing);
        assertThat(warnings)
                .satisfiesExactly(
                        line -> assertThat(line).contains("event=tls_files_unusable", "does not exist"),
                        line -> assertThat(line).contains("event=tls_files_unusable", "no event loop"));
        Files.write(key, good);
        tls.check(now, events, failing);
        tls.check(now, events, failing);
        assertThat(lines).last().asString().contains("event=tls_files_usable", certificate.toString());
    }

    @Test
    void aKeyOfAnotherCertificateIsRefused() {
        AUTHORITY.server().writeKey(key);
        assertRefused("TLS key " + key + " does not belong to certificate " + certificate);
    }

    @Test
    void anExpiredCertificateIsRefused() {
        Instant end = now.minus(Duration.ofDays(1)).truncatedTo(ChronoUnit.SECONDS);
        write(AUTHORITY.serverUntil(end));
        assertRefused("TLS certificate " + certificate + " expired at " + end + "; renew it");
    }

    @Test
    void aCertificateOfTheFutureIsRefused() {
        write(AUTHORITY.serverUntil(now.plus(Duration.ofDays(60))));
        assertRefused("check the clock of this machine");
    }

    @Test
    void certificateOfTheFutureIsUsedWhenItsTimeComes() throws TlsUnusable {
        ReloadableTls tls = server();
        write(AUTHORITY.serverUntil(now.plus(Duration.ofDays(60))));
        assertThat(tls.reload(now)).isEqualTo(nothing());
        assertThat(tls.reload(now).problems()).hasSize(1);
        assertThat(tls.reload(now)).isEqualTo(nothing());
        assertThat(tls.reload(now.plus(Duration.ofDays(59))).identity()).isTrue();
    }

    @Test
    void aCertificateForClientsIsNoServers() {
        write(AUTHORITY.client("worker"));
        assertRefused("TLS certificate " + certificate + " is not for servers (extended key usage)");
    }

    @Test
    void aCertificateForServersIsNoClients() {
        assertThatThrownBy(() -> ReloadableTls.client(authorities, certificate, key, now))
                .isInstanceOf(TlsUnusable.class)
                .hasMessageStartingWith("TLS certificate " + certificate + " is not for clients (extended key usage)");
    }

    @Test
    void aFileThatIsNotThereIsNamed() throws IOException {
        Files.delete(key);
        assertRefused("TLS file " + key + " does not exist");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "hunter2", "-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n"})
    void whatIsNoCertificateIsRefused(String content) throws IOException {
        Files.writeString(certificate, content);
        assertRefused(certificate + " holds no certificate; use X.509 in PEM (BEGIN CERTIFICATE)");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "hunter2",
                "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n",
                "-----BEGIN PRIVATE KEY-----\n%%%\n-----END PRIVATE KEY-----\n",
                "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n",
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nhunter2\n-----END ENCRYPTED PRIVATE KEY-----\n"
            })
    void whatIsNoKeyIsRefusedWithoutItsContent(String content) throws IOException {
        Files.writeString(key, content);
        assertRefused(key + " holds no RSA or EC key that can be read; use PKCS#8 in PEM without a password");
    }

    @Test
    void aHugeFileIsRefused() throws IOException {
        Files.write(key, new byte[(1 << 20) + 1]);
        assertRefused(key + " has more than 1 MiB");
    }

    /** The start would wait for a writer of the pipe, and a later look would be the last. */
    @Test
    void aPipeIsRefusedAtTheStartAndLater() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> {
            ReloadableTls tls = server();
            Files.delete(key);
            Files.createSymbolicLink(key, pipe);
            tls.reload(now);
            assertThat(tls.reload(now).problems())
                    .containsExactly(
                            "TLS file " + key + " is no regular file; it is read every few seconds, so name a file");
            assertRefused("TLS file " + key + " is no regular file");
        });
    }

    @Test
    void theWholeChainIsRead() throws IOException, TlsUnusable, java.security.cert.CertificateException {
        Files.writeString(
                certificate,
                Files.readString(certificate) + "-----BEGIN CERTIFICATE-----\n"
                        + Base64.getMimeEncoder()
                                .encodeToString(AUTHORITY.certificate().getEncoded())
                        + "\n-----END CERTIFICATE-----\n");
        TlsIdentity identity =
                TlsIdentity.of(PemFile.read(certificate), PemFile.read(key), TlsIdentity.Side.SERVER, now);
        assertThat(identity.chain()).containsExactly(SERVER.certificate(), AUTHORITY.certificate());
    }

    private void assertRefused(String message) {
        assertThatThrownBy(this::server)
                .isInstanceOf(TlsUnusable.class)
                .hasMessageContaining(message)
                .hasMessageNotContaining("hunter2");
    }

    private ReloadableTls server() throws TlsUnusable {
        return ReloadableTls.server(certificate, key, authorities, now);
    }

    private void write(TestCertificate made) {
        made.writeCertificate(certificate);
        made.writeKey(key);
    }

    private static ReloadableTls.Reload nothing() {
        return new ReloadableTls.Reload(false, false, List.of(), List.of());
    }
}
