package dev.palisade.pki;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.CertificateEncodingException;
import java.security.cert.X509Certificate;
import java.util.Base64;

/** Files in PEM, each replaced by a rename. */
final class Pem {
    private Pem() {}

    static Path write(Path file, X509Certificate certificate) {
        try {
            return write(file, "CERTIFICATE", certificate.getEncoded());
        } catch (CertificateEncodingException e) {
            throw new IllegalStateException(e);
        }
    }

    static Path write(Path file, String kind, byte[] encoded) {
        String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(encoded);
        Path made = file.resolveSibling(file.getFileName() + ".new");
        try {
            Files.writeString(
                    made,
                    "-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n",
                    StandardCharsets.US_ASCII);
            return Files.move(made, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
