package dev.palisade.contract.grpc;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;

/** A certificate chain and its private key, checked together before a connection may use them. */
record TlsIdentity(List<X509Certificate> chain, PrivateKey key) {
    private static final String ANY_PURPOSE = "2.5.29.37.0";

    /** The side of a connection that presents a certificate. */
    enum Side {
        SERVER("servers", "1.3.6.1.5.5.7.3.1"),
        CLIENT("clients", "1.3.6.1.5.5.7.3.2");

        private final String plural;
        private final String purpose;

        Side(String plural, String purpose) {
            this.plural = plural;
            this.purpose = purpose;
        }
    }

    /**
     * Checks purpose, validity at {@code now}, and that the key belongs to the first certificate. The TLS library accepts a pair that
     * does not match, and every handshake fails from then on.
     */
    static TlsIdentity of(PemFile certificate, PemFile key, Side side, Instant now) throws TlsUnusable {
        List<X509Certificate> chain = certificate.certificates();
        X509Certificate first = chain.get(0);
        if (now.isAfter(first.getNotAfter().toInstant())) {
            throw new TlsUnusable("TLS certificate " + certificate.path() + " expired at "
                    + first.getNotAfter().toInstant() + "; renew it");
        }
        if (now.isBefore(first.getNotBefore().toInstant())) {
            throw new TlsUnusable("TLS certificate " + certificate.path() + " is valid from "
                    + first.getNotBefore().toInstant() + " on; check the clock of this machine, which says " + now);
        }
        if (!permits(first, side)) {
            throw new TlsUnusable("TLS certificate " + certificate.path() + " is not for " + side.plural
                    + " (extended key usage); have one issued for them");
        }
        PrivateKey read = key.privateKey();
        if (!isPair(first, read)) {
            throw new TlsUnusable("TLS key " + key.path() + " does not belong to certificate " + certificate.path()
                    + "; name the key that the certificate was issued for");
        }
        return new TlsIdentity(chain, read);
    }

    private static boolean permits(X509Certificate certificate, Side side) {
        try {
            List<String> purposes = certificate.getExtendedKeyUsage();
            return purposes == null || purposes.contains(side.purpose) || purposes.contains(ANY_PURPOSE);
        } catch (CertificateParsingException e) {
            return false;
        }
    }

    private static boolean isPair(X509Certificate certificate, PrivateKey key) {
        try {
            byte[] text = {1, 2, 3};
            Signature signature =
                    Signature.getInstance(key.getAlgorithm().equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
            signature.initSign(key);
            signature.update(text);
            byte[] signed = signature.sign();
            signature.initVerify(certificate.getPublicKey());
            signature.update(text);
            return signature.verify(signed);
        } catch (GeneralSecurityException e) {
            return false;
        }
    }
}
