package dev.palisade.contract.grpc;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.grpc.TlsIdentity.Side;
import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import io.grpc.util.AdvancedTlsX509TrustManager.Verification;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * TLS credentials of PEM files that are replaced while the process runs. A new connection uses the newest files that were complete
 * and valid together; open connections keep what they began with. Files are read by {@link #reload} alone, which never leaves
 * less than before: files that cannot be used change nothing. Thread-safe.
 */
public final class ReloadableTls {
    private static final long RELOAD_SECONDS = 2;

    private final Side side;
    private final @Nullable Path key;
    private final ClientCertificates clientCertificates;
    private final AdvancedTlsX509KeyManager keyManager = new AdvancedTlsX509KeyManager();
    private final AdvancedTlsX509TrustManager trustManager;
    private final @Nullable WatchedFiles identity;
    private final @Nullable WatchedFiles authorities;
    private volatile @Nullable X509TrustManager verifier;
    private volatile @Nullable Instant expiresAt;

    private ReloadableTls(
            Side side,
            @Nullable Path certificate,
            @Nullable Path key,
            @Nullable Path authorities,
            ClientCertificates clientCertificates,
            Instant now)
            throws TlsUnusable {
        this.side = side;
        this.key = key;
        this.clientCertificates = clientCertificates;
        this.trustManager = trustManager(side);
        // A command calls once, and its files may be pipes of the shell.
        boolean isReadAgain = side == Side.SERVER;
        this.identity = certificate == null || key == null
                ? null
                : new WatchedFiles(List.of(certificate, key), isReadAgain, this::useIdentity);
        this.authorities =
                authorities == null ? null : new WatchedFiles(List.of(authorities), isReadAgain, this::useAuthorities);
        if (identity != null) {
            identity.load(now);
        }
        if (this.authorities != null) {
            this.authorities.load(now);
        }
    }

    /** A client verifies the host name of a server. A client's certificate is for a name and not for its address. */
    private static AdvancedTlsX509TrustManager trustManager(Side side) {
        try {
            return AdvancedTlsX509TrustManager.newBuilder()
                    .setVerification(
                            side == Side.CLIENT
                                    ? Verification.CERTIFICATE_AND_HOST_NAME_VERIFICATION
                                    : Verification.CERTIFICATE_ONLY_VERIFICATION)
                    .build();
        } catch (CertificateException e) {
            throw new IllegalStateException("the JDK has no X.509 trust manager", e);
        }
    }

    /**
     * TLS of a server.
     *
     * @param certificate its chain, the server's own certificate first
     * @param key its private key, PKCS#8
     * @param clientAuthorities if given, every client must present a certificate that one of them issued
     */
    public static ReloadableTls server(Path certificate, Path key, @Nullable Path clientAuthorities, Instant now)
            throws TlsUnusable {
        return server(certificate, key, clientAuthorities, ClientCertificates.REQUIRED, now);
    }

    /**
     * TLS of a server.
     *
     * @param certificate its chain, the server's own certificate first
     * @param key its private key, PKCS#8
     * @param clientAuthorities if given, the certificate of a client must be issued by one of them
     * @param clientCertificates whether a client needs one; without {@code clientAuthorities} none is asked for
     */
    public static ReloadableTls server(
            Path certificate,
            Path key,
            @Nullable Path clientAuthorities,
            ClientCertificates clientCertificates,
            Instant now)
            throws TlsUnusable {
        return new ReloadableTls(Side.SERVER, certificate, key, clientAuthorities, clientCertificates, now);
    }

    /**
     * TLS of a client, which always verifies the name of the server.
     *
     * @param authorities issuers of the server's certificate; those of the JDK if absent
     * @param certificate to present, with {@code key}; none if absent
     */
    public static ReloadableTls client(
            @Nullable Path authorities, @Nullable Path certificate, @Nullable Path key, Instant now)
            throws TlsUnusable {
        ReloadableTls tls =
                new ReloadableTls(Side.CLIENT, certificate, key, authorities, ClientCertificates.REQUIRED, now);
        if (authorities == null) {
            try {
                tls.trustManager.useSystemDefaultTrustCerts();
            } catch (GeneralSecurityException e) {
                throw new TlsUnusable("the JDK's own certificate authorities cannot be read (" + e.getMessage() + ")");
            }
        }
        return tls;
    }

    /** For {@link io.grpc.Grpc} and the transports' builders. */
    public ServerCredentials serverCredentials() {
        TlsServerCredentials.Builder builder = TlsServerCredentials.newBuilder().keyManager(keyManager);
        if (authorities != null) {
            builder.trustManager(trustManager)
                    .clientAuth(
                            clientCertificates == ClientCertificates.REQUIRED
                                    ? TlsServerCredentials.ClientAuth.REQUIRE
                                    : TlsServerCredentials.ClientAuth.OPTIONAL);
        }
        return builder.build();
    }

    /** The key manager, for transports that are not gRPC's. It presents the certificate of the moment. */
    public X509ExtendedKeyManager keyManager() {
        return keyManager;
    }

    /** The trust manager, for transports that are not gRPC's. It verifies by the authorities of the moment. */
    public X509ExtendedTrustManager trustManager() {
        return trustManager;
    }

    /** Whether this side presents a certificate. */
    public boolean hasIdentity() {
        return identity != null;
    }

    /** Whether clients of a server that {@link #verifiesClients} need a certificate. */
    public ClientCertificates clientCertificates() {
        return clientCertificates;
    }

    /** Whether this server verifies certificates of clients, and asks for them. */
    public boolean verifiesClients() {
        return side == Side.SERVER && authorities != null;
    }

    /** For a server: each call is to pass it. Without client authorities it lets every call pass. */
    public ClientVerification clientVerification() {
        return new ClientVerification(() -> verifier, clientCertificates);
    }

    /** For channels. */
    public ChannelCredentials channelCredentials() {
        TlsChannelCredentials.Builder builder =
                TlsChannelCredentials.newBuilder().trustManager(trustManager);
        if (identity != null) {
            builder.keyManager(keyManager);
        }
        return builder.build();
    }

    /**
     * Result of one reload.
     *
     * @param identity whether a new certificate is in use
     * @param authorities whether new authorities are in use: connections that were made before were verified by the former
     * @param problems one line for each part that is not usable, once
     * @param restored files whose content in use was put back in place of some that was not usable
     */
    public record Reload(boolean identity, boolean authorities, List<String> problems, List<Path> restored) {}

    /**
     * Reads the files again. Call it every few seconds: content is used, or reported, when two calls in a row found it, because
     * certificate and key are two files, and a file that is being written is read half.
     */
    public synchronized Reload reload(Instant now) {
        List<String> problems = new ArrayList<>();
        List<Path> restored = new ArrayList<>();
        boolean newIdentity = reload(identity, now, problems, restored);
        boolean newAuthorities = reload(authorities, now, problems, restored);
        return new Reload(newIdentity, newAuthorities, List.copyOf(problems), List.copyOf(restored));
    }

    private static boolean reload(
            @Nullable WatchedFiles files, Instant now, List<String> problems, List<Path> restored) {
        if (files == null) {
            return false;
        }
        try {
            return switch (files.reload(now)) {
                case UNCHANGED -> false;
                case REPLACED -> true;
                case RESTORED -> {
                    restored.add(files.first());
                    yield false;
                }
            };
        } catch (TlsUnusable e) {
            problems.add(e.message());
        }
        return false;
    }

    /** Whether the certificate and the key in the files are in use; true without a certificate. */
    public boolean isIdentityUsable() {
        return identity == null || identity.isUsable();
    }

    /** Whether the authorities in the file are in use; true without authorities. */
    public boolean areAuthoritiesUsable() {
        return authorities == null || authorities.isUsable();
    }

    /** End of the certificate that is presented now; empty without a certificate. */
    public Optional<Instant> expiresAt() {
        return Optional.ofNullable(expiresAt);
    }

    /**
     * Calls {@link #reload} every 2 s, on a daemon thread of its own: files may be on a disk that hangs.
     *
     * @param disconnect runs when connections were verified by authorities that are gone
     */
    public void watch(EventLog events, Runnable disconnect) {
        warnOfReadableKey(events);
        ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread made = new Thread(task, "palisade-tls-files");
            made.setDaemon(true);
            return made;
        });
        var unused = thread.scheduleWithFixedDelay(
                () -> check(Instant.now(), events, disconnect), RELOAD_SECONDS, RELOAD_SECONDS, TimeUnit.SECONDS);
    }

    /** Whoever has the key can be the server. As for a keyset, the group may read a file of root: there root has chosen the group. */
    void warnOfReadableKey(EventLog events) {
        if (key == null) {
            return;
        }
        try {
            if (!Files.getFileStore(key).supportsFileAttributeView("posix")) {
                return;
            }
            Set<PosixFilePermission> mode = Files.getPosixFilePermissions(key);
            boolean isOfRoot = Integer.valueOf(0).equals(Files.getAttribute(key, "unix:uid"));
            if (mode.contains(PosixFilePermission.OTHERS_READ)
                    || (mode.contains(PosixFilePermission.GROUP_READ) && !isOfRoot)) {
                events.warn(
                        "tls_key_readable",
                        "path",
                        key,
                        "message",
                        "others can read the TLS key (" + PosixFilePermissions.toString(mode)
                                + "); chmod 600 it, or in a Kubernetes Secret defaultMode 0440 and fsGroup");
            }
        } catch (IOException | UnsupportedOperationException e) {
            // Then the key cannot be read either, which the next check reports.
        }
    }

    /** One turn of {@link #watch}. A task that throws would be the last one, so this never does. */
    void check(Instant now, EventLog events, Runnable disconnect) {
        try {
            report(reload(now), events, disconnect);
        } catch (RuntimeException | Error e) {
            events.warn("tls_files_unusable", "message", "the TLS files were not checked (" + e + ")");
        }
    }

    private void report(Reload found, EventLog events, Runnable disconnect) {
        found.problems()
                .forEach(problem ->
                        events.warn("tls_files_unusable", "message", problem + "; the last good ones stay in use"));
        found.restored().forEach(path -> events.tellAlways("tls_files_usable", "path", path));
        if (found.identity() && identity != null) {
            events.tellAlways("tls_certificate_replaced", "path", identity.first());
        }
        if (found.authorities() && authorities != null) {
            events.tellAlways("tls_authorities_replaced", "path", authorities.first());
            disconnect.run();
        }
    }

    private void useIdentity(List<PemFile> files, Instant now) throws TlsUnusable {
        TlsIdentity read = TlsIdentity.of(files.get(0), files.get(1), side, now);
        keyManager.updateIdentityCredentials(read.chain().toArray(new X509Certificate[0]), read.key());
        expiresAt = read.chain().get(0).getNotAfter().toInstant();
    }

    private void useAuthorities(List<PemFile> files, Instant now) throws TlsUnusable {
        try {
            List<X509Certificate> certificates = files.get(0).certificates();
            if (side == Side.SERVER && certificates.stream().noneMatch(ReloadableTls::isAuthority)) {
                throw new TlsUnusable(files.get(0).path() + " holds no certificate of an authority (basicConstraints"
                        + " CA:TRUE), so it verifies no client; name the certificate of the clients' issuer");
            }
            verifier = verifier(certificates);
            trustManager.updateTrustCredentials(certificates.toArray(new X509Certificate[0]));
        } catch (IOException | GeneralSecurityException e) {
            throw new TlsUnusable(
                    files.get(0).path() + " cannot be used as certificate authorities (" + e.getMessage() + ")");
        }
    }

    /** Certificates before version 3 cannot say it. */
    private static boolean isAuthority(X509Certificate certificate) {
        return certificate.getVersion() < 3 || certificate.getBasicConstraints() >= 0;
    }

    private static X509TrustManager verifier(List<X509Certificate> authorities)
            throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        for (X509Certificate authority : authorities) {
            store.setCertificateEntry("authority " + store.size(), authority);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return (X509TrustManager) factory.getTrustManagers()[0];
    }
}
