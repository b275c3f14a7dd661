package dev.palisade.contract.grpc;

import com.google.protobuf.ByteString;
import io.grpc.util.CertificateUtils;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;

/** The content of a PEM file. */
record PemFile(Path path, ByteString content) {
    private static final int BYTES_MAX = 1 << 20;

    static PemFile read(Path path) throws TlsUnusable {
        try (InputStream in = Files.newInputStream(path)) {
            byte[] content = in.readNBytes(BYTES_MAX + 1);
            if (content.length > BYTES_MAX) {
                throw new TlsUnusable(path + " has more than 1 MiB; TLS files are in PEM and far smaller");
            }
            return new PemFile(path, ByteString.copyFrom(content));
        } catch (NoSuchFileException e) {
            throw new TlsUnusable("TLS file " + path + " does not exist");
        } catch (AccessDeniedException e) {
            throw new TlsUnusable("TLS file " + path + " may not be read by this user");
        } catch (IOException e) {
            throw new TlsUnusable("TLS file " + path + " cannot be read (" + e.getMessage() + ")");
        }
    }

    /**
     * Throws if there is something else than a file: a pipe is read once only, and blocks the reader while there is no
     * writer.
     */
    static void requireFile(Path path) throws TlsUnusable {
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw new TlsUnusable(
                    "TLS file " + path + " is no regular file; it is read every few seconds, so name a file");
        }
    }

    /** At least one. */
    List<X509Certificate> certificates() throws TlsUnusable {
        try {
            List<X509Certificate> found = List.of(CertificateUtils.getX509Certificates(stream()));
            if (!found.isEmpty()) {
                return found;
            }
        } catch (CertificateException e) {
            // Its message may repeat bytes of the file.
        }
        throw new TlsUnusable(path + " holds no certificate; use X.509 in PEM (BEGIN CERTIFICATE)");
    }

    PrivateKey privateKey() throws TlsUnusable {
        if (content.toString(StandardCharsets.ISO_8859_1).contains("-----BEGIN PRIVATE KEY-----")) {
            try {
                return CertificateUtils.getPrivateKey(stream());
            } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
                // Its message may repeat bytes of the file.
            }
        }
        throw new TlsUnusable(path + " holds no RSA or EC key that can be read; use PKCS#8 in PEM without a password"
                + " (BEGIN PRIVATE KEY), made by: openssl pkcs8 -topk8 -nocrypt -in " + path);
    }

    private InputStream stream() {
        return content.newInput();
    }
}
