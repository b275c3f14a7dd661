package dev.palisade.pki;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.jspecify.annotations.Nullable;

/** A certificate authority for tests. Thread-safe. */
public final class TestAuthority {
    private static final Duration VALID_FOR = Duration.ofDays(30);

    private final KeyPair keys;
    private final X509Certificate certificate;

    private TestAuthority(KeyPair keys, X509Certificate certificate) {
        this.keys = keys;
        this.certificate = certificate;
    }

    /** A new authority with keys of its own. */
    public static TestAuthority named(String name) {
        KeyPair keys = newKeys();
        X500Name subject = new X500Name("CN=" + name);
        Instant now = Instant.now();
        return new TestAuthority(keys, sign(keys, subject, keys, subject, lasting(now), builder -> {
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(true));
        }));
    }

    public X509Certificate certificate() {
        return certificate;
    }

    /** Writes the authority's certificate, in PEM. */
    public Path write(Path file) {
        return Pem.write(file, certificate);
    }

    /** A certificate for a server at {@code localhost} and 127.0.0.1. */
    public TestCertificate server() {
        return issue(
                "CN=server",
                lasting(Instant.now()),
                List.of(KeyPurposeId.id_kp_serverAuth),
                new GeneralName(GeneralName.dNSName, "localhost"),
                new GeneralName(GeneralName.iPAddress, "127.0.0.1"));
    }

    /** A server's certificate for another host than these tests call. */
    public TestCertificate serverNamed(String host) {
        return issue(
                "CN=server",
                lasting(Instant.now()),
                List.of(KeyPurposeId.id_kp_serverAuth),
                new GeneralName(GeneralName.dNSName, host));
    }

    /** A server's certificate that was valid for thirty days until {@code end}. */
    public TestCertificate serverUntil(Instant end) {
        return issue(
                "CN=server",
                new Validity(end.minus(VALID_FOR), end),
                List.of(KeyPurposeId.id_kp_serverAuth),
                new GeneralName(GeneralName.dNSName, "localhost"),
                new GeneralName(GeneralName.iPAddress, "127.0.0.1"));
    }

    /** A client's certificate whose subject alternative name is {@code name}, as a DNS name or, with {@code ://}, a URI. */
    public TestCertificate client(String name) {
        int kind = name.contains("://") ? GeneralName.uniformResourceIdentifier : GeneralName.dNSName;
        return issue(
                "CN=client",
                lasting(Instant.now()),
                List.of(KeyPurposeId.id_kp_clientAuth),
                new GeneralName(kind, name));
    }

    /** A client's certificate with a subject, and without alternative names. */
    public TestCertificate clientWithoutName(String subject) {
        return issue("CN=" + subject, lasting(Instant.now()), List.of(KeyPurposeId.id_kp_clientAuth));
    }

    /** TLS of a process that trusts this authority, and presents {@code own} unless that is null. */
    public SSLContext context(@Nullable TestCertificate own) {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("authority", certificate);
            KeyManagerFactory keyManagers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            if (own != null) {
                store.setKeyEntry("own", own.key(), new char[0], new X509Certificate[] {own.certificate()});
            }
            keyManagers.init(store, new char[0]);
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(own == null ? null : keyManagers.getKeyManagers(), trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private TestCertificate issue(
            String subject, Validity validity, List<KeyPurposeId> purposes, GeneralName... names) {
        KeyPair own = newKeys();
        X509Certificate issued = sign(
                keys,
                new X500Name(certificate.getSubjectX500Principal().getName()),
                own,
                new X500Name(subject),
                validity,
                builder -> {
                    builder.addExtension(
                            Extension.extendedKeyUsage,
                            false,
                            new ExtendedKeyUsage(purposes.toArray(new KeyPurposeId[0])));
                    if (names.length > 0) {
                        builder.addExtension(Extension.subjectAlternativeName, false, new GeneralNames(names));
                    }
                });
        return new TestCertificate(issued, own.getPrivate());
    }

    private record Validity(Instant from, Instant to) {}

    private static Validity lasting(Instant now) {
        return new Validity(now.minus(Duration.ofHours(1)), now.plus(VALID_FOR));
    }

    @FunctionalInterface
    private interface Extensions {
        void addTo(X509v3CertificateBuilder builder) throws CertIOException;
    }

    private static X509Certificate sign(
            KeyPair issuer, X500Name issuerName, KeyPair subject, X500Name name, Validity validity, Extensions more) {
        try {
            X509v3CertificateBuilder builder = new JcaX509v3CertificateBuilder(
                    issuerName,
                    new BigInteger(64, new SecureRandom()).add(BigInteger.ONE),
                    Date.from(validity.from),
                    Date.from(validity.to),
                    name,
                    subject.getPublic());
            more.addTo(builder);
            return new JcaX509CertificateConverter()
                    .getCertificate(
                            builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(issuer.getPrivate())));
        } catch (IOException | GeneralSecurityException | OperatorCreationException e) {
            throw new IllegalStateException(e);
        }
    }

    static KeyPair newKeys() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
