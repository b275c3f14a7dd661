package dev.palisade.server.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;

/** An OIDC issuer for tests: keys, their JWK set, and tokens of any kind. */
public final class JwtIssuer {
    public static final String ISSUER = "https://login.example.org";
    public static final String AUDIENCE = "locks";

    private JwtIssuer() {}

    public static RSAKey rsa(String id) {
        return rsa(id, 2_048);
    }

    static RSAKey rsa(String id, int bits) {
        try {
            return new RSAKeyGenerator(bits, true).keyID(id).generate();
        } catch (JOSEException e) {
            throw new AssertionError(e);
        }
    }

    public static ECKey ec(String id) {
        try {
            return new ECKeyGenerator(Curve.P_256).keyID(id).generate();
        } catch (JOSEException e) {
            throw new AssertionError(e);
        }
    }

    /** With the public halves. */
    public static String jwks(JWK... keys) {
        return new JWKSet(Arrays.asList(keys)).toString(true);
    }

    /** As the issuer would make it for alice. */
    public static JWTClaimsSet.Builder claims(Instant expiresAt) {
        return new JWTClaimsSet.Builder()
                .issuer(ISSUER)
                .audience(AUDIENCE)
                .subject("alice")
                .expirationTime(Date.from(expiresAt));
    }

    public static String signed(JWK key, JWTClaimsSet.Builder claims) {
        return signed(header(key).type(JOSEObjectType.JWT).build(), key, claims);
    }

    static JWSHeader.Builder header(JWK key) {
        return new JWSHeader.Builder(key instanceof RSAKey ? JWSAlgorithm.RS256 : JWSAlgorithm.ES256)
                .keyID(key.getKeyID());
    }

    static String signed(JWSHeader header, JWK key, JWTClaimsSet.Builder claims) {
        try {
            JWSSigner signer = key instanceof RSAKey rsa ? new RSASSASigner(rsa) : new ECDSASigner(key.toECKey());
            return signed(header, signer, claims);
        } catch (JOSEException e) {
            throw new AssertionError(e);
        }
    }

    /** With an HMAC whose secret is the text of the public key, which careless verifiers take for a signature. */
    static String signedWithPublicKey(RSAKey key, JWTClaimsSet.Builder claims) {
        try {
            byte[] secret = key.toRSAPublicKey().getEncoded();
            JWSHeader header = new JWSHeader.Builder(JWSAlgorithm.HS256)
                    .keyID(key.getKeyID())
                    .build();
            return signed(header, new MACSigner(secret), claims);
        } catch (JOSEException e) {
            throw new AssertionError(e);
        }
    }

    private static String signed(JWSHeader header, JWSSigner signer, JWTClaimsSet.Builder claims) throws JOSEException {
        SignedJWT token = new SignedJWT(header, claims.build());
        token.sign(signer);
        return token.serialize();
    }
}
