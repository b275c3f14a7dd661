package dev.palisade.server.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.RSASSAVerifier;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.SignedJWT;
import java.text.ParseException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Set of public keys of an issuer (RFC 7517). Holds no private and no symmetric key: a set with one is refused whole. Immutable; safe to
 * share between threads.
 */
final class VerificationKeys implements SecurityContext {
    /** Asymmetric ones only, so that a public key can never be taken for the secret of an HMAC. */
    static final Set<JWSAlgorithm> ALGORITHMS = Set.of(JWSAlgorithm.RS256, JWSAlgorithm.ES256);

    static final int KEYS_MAX = 100;
    private static final int RSA_BITS_MIN = 2_048;

    private final JWKSet keys;
    private final Set<String> thumbprints;

    private VerificationKeys(JWKSet keys) {
        this.keys = keys;
        this.thumbprints =
                keys.getKeys().stream().map(VerificationKeys::thumbprint).collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Parses a JWK set.
     *
     * @param source file or URL, for messages
     * @throws FileMistakes when it is none, has a secret in it, or no key that can verify
     */
    static VerificationKeys parse(Object source, String text) throws FileMistakes {
        List<JWK> all;
        try {
            all = JWKSet.parse(text).getKeys();
        } catch (ParseException | IllegalArgumentException e) {
            // Without the parser's message, which may quote what it read.
            throw new FileMistakes(source, source + " is no JWK set; it is JSON with a list \"keys\" of public keys");
        }
        if (all.stream().anyMatch(JWK::isPrivate)) {
            throw new FileMistakes(source, source + " holds a private or secret key; leave only public keys in it");
        }
        if (all.size() > KEYS_MAX) {
            throw new FileMistakes(source, source + " has " + all.size() + " keys; use at most " + KEYS_MAX);
        }
        List<JWK> usable = all.stream().filter(VerificationKeys::isUsable).toList();
        if (usable.isEmpty()) {
            throw new FileMistakes(
                    source,
                    source + " has no key that can verify; use RSA of " + RSA_BITS_MIN
                            + " bits or more for RS256, or P-256 for ES256");
        }
        return new VerificationKeys(new JWKSet(usable));
    }

    private static boolean isUsable(JWK key) {
        boolean isStrong = key instanceof RSAKey
                ? key.size() >= RSA_BITS_MIN
                : key instanceof ECKey ec && ec.getCurve().equals(Curve.P_256);
        return isStrong
                && (key.getKeyUse() == null || key.getKeyUse().equals(KeyUse.SIGNATURE))
                && (key.getAlgorithm() == null || ALGORITHMS.contains(key.getAlgorithm()));
    }

    List<JWK> select(JWKSelector selector) {
        return selector.select(keys);
    }

    /** Whether a key can have signed a token with this header. */
    boolean fit(JWSHeader header) {
        JWKMatcher matcher = JWKMatcher.forJWSHeader(header);
        return matcher != null && !select(new JWKSelector(matcher)).isEmpty();
    }

    /** Thumbprint of the key that signed a token, which is verified: of several with one id, the one that verifies it. */
    String keyOf(SignedJWT verified) {
        List<JWK> fitting = select(new JWKSelector(JWKMatcher.forJWSHeader(verified.getHeader())));
        return fitting.stream()
                .filter(key -> fitting.size() == 1 || verifies(key, verified))
                .map(VerificationKeys::thumbprint)
                .findFirst()
                .orElse("");
    }

    /** Whether the key with this thumbprint is one of them. */
    boolean has(String thumbprint) {
        return thumbprints.contains(thumbprint);
    }

    private static boolean verifies(JWK key, SignedJWT token) {
        try {
            return token.verify(key instanceof RSAKey rsa ? new RSASSAVerifier(rsa) : new ECDSAVerifier(key.toECKey()));
        } catch (JOSEException | RuntimeException e) {
            return false;
        }
    }

    private static String thumbprint(JWK key) {
        try {
            return key.computeThumbprint().toString();
        } catch (JOSEException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    boolean sameAs(VerificationKeys other) {
        return keys.equals(other.keys);
    }
}
