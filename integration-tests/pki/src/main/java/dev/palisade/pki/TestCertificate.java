package dev.palisade.pki;

import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;

/** A certificate with its private key. */
public record TestCertificate(X509Certificate certificate, PrivateKey key) {
    /** Writes the certificate, in PEM. */
    public Path writeCertificate(Path file) {
        return Pem.write(file, certificate);
    }

    /** Writes the key, in PKCS#8 PEM. */
    public Path writeKey(Path file) {
        return Pem.write(file, "PRIVATE KEY", key.getEncoded());
    }
}
