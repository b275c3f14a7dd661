package dev.palisade.server.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.BadJWSException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.jwt.JWT;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.JWTParser;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.BadJWTException;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.text.ParseException;
import java.time.InstantSource;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Verifier of the JWTs of one issuer for one audience: signature, type and claims. Computes only, and waits for nothing. Refusals never
 * repeat any part of the token. Thread-safe.
 */
final class JwtVerifier {
    /** As much as the Java client sends. */
    static final int CHARS_MAX = 4_096;
    /** The end of the year 9999. */
    private static final double SECONDS_MAX = 253_402_300_799.0;

    private final JwtSettings settings;
    private final JOSEObjectTypeVerifier<VerificationKeys> types =
            new DefaultJOSEObjectTypeVerifier<>(JOSEObjectType.JWT, new JOSEObjectType("at+jwt"), null);
    private final DefaultJWTClaimsVerifier<VerificationKeys> claims;
    private final DefaultJWTProcessor<VerificationKeys> processor = new DefaultJWTProcessor<>();

    JwtVerifier(JwtSettings settings, InstantSource clock) {
        this.settings = settings;
        processor.setJWSTypeVerifier(types);
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(
                VerificationKeys.ALGORITHMS, (selector, keys) -> keys.select(selector)));
        claims =
                new DefaultJWTClaimsVerifier<>(
                        settings.audience(),
                        new JWTClaimsSet.Builder().issuer(settings.issuer()).build(),
                        Set.of("exp", settings.principalClaim())) {
                    @Override
                    protected Date currentTime() {
                        return Date.from(clock.instant());
                    }
                };
        claims.setMaxClockSkew((int) settings.clockSkew().toSeconds());
        processor.setJWTClaimsSetVerifier(claims);
    }

    /**
     * Checks format, algorithm and claims: all that needs no key. A token that passes may still have a wrong signature.
     *
     * @throws RejectedException UNAUTHENTICATED
     */
    SignedJWT check(String token) {
        SignedJWT signed = parse(token);
        if (!VerificationKeys.ALGORITHMS.contains(signed.getHeader().getAlgorithm())) {
            throw refused("its algorithm is not RS256 or ES256");
        }
        if (headerOf(signed).containsKey("crit")) {
            throw refused("its header has critical parameters (crit), and none is supported");
        }
        try {
            types.verify(signed.getHeader().getType(), null);
        } catch (BadJOSEException e) {
            throw refused("its type is not JWT or at+jwt");
        }
        checkTimes(signed);
        try {
            claims.verify(signed.getJWTClaimsSet(), null);
        } catch (BadJWTException e) {
            throw refused(String.valueOf(e.getMessage())); // Of the library, which repeats no claim.
        } catch (ParseException | RuntimeException e) {
            throw refused("it is not in the format of a JWT");
        }
        return signed;
    }

    /** As numbers: the library reads a time beyond its range as another one. */
    private void checkTimes(SignedJWT signed) {
        Map<String, Object> payload = signed.getPayload().toJSONObject();
        if (payload == null) {
            throw refused("it is not in the format of a JWT");
        }
        for (String claim : List.of("exp", "nbf", "iat")) {
            Object time = payload.get(claim);
            boolean isTime =
                    time instanceof Number number && number.doubleValue() >= 0 && number.doubleValue() <= SECONDS_MAX;
            if (payload.containsKey(claim) && !isTime) {
                throw refused("its claim " + claim + " is no time; it is in seconds since 1970");
            }
        }
    }

    private Map<String, Object> headerOf(SignedJWT signed) {
        try {
            return JSONObjectUtils.parse(signed.getHeader().toBase64URL().decodeToString());
        } catch (ParseException e) {
            throw refused("it is not in the format of a JWT");
        }
    }

    /**
     * Verifies a token.
     *
     * @return null when none of the keys fits it
     * @throws RejectedException UNAUTHENTICATED
     */
    @Nullable
    JwtIdentity verify(String token, VerificationKeys keys) {
        SignedJWT signed = check(token);
        if (!keys.fit(signed.getHeader())) {
            return null;
        }
        JWTClaimsSet verified = verified(signed, keys);
        return identity(verified, keys.keyOf(signed));
    }

    private JWTClaimsSet verified(SignedJWT signed, VerificationKeys keys) {
        try {
            return processor.process(signed, keys);
        } catch (BadJWTException e) {
            throw refused(String.valueOf(e.getMessage())); // Of the library, which repeats no claim.
        } catch (BadJWSException e) {
            throw refused("its signature is wrong");
        } catch (BadJOSEException | JOSEException | RuntimeException e) {
            throw refused("it cannot be verified");
        }
    }

    private SignedJWT parse(String token) {
        if (token.length() > CHARS_MAX) {
            throw refused("it has more than " + CHARS_MAX + " characters");
        }
        JWT parsed;
        try {
            parsed = JWTParser.parse(token);
        } catch (ParseException | RuntimeException e) {
            throw refused("it is not in the format of a JWT");
        }
        if (parsed instanceof SignedJWT signed) {
            return signed;
        }
        throw refused("it is not signed");
    }

    private JwtIdentity identity(JWTClaimsSet claims, String key) {
        if (!(claims.getClaim(settings.principalClaim()) instanceof String name)
                || !Policy.isPrincipal("jwt:" + name)) {
            throw refused("its claim " + settings.principalClaim()
                    + " names no client: that is 1 to 512 printable ASCII characters without a space");
        }
        return new JwtIdentity(
                "jwt:" + name, claims.getExpirationTime().toInstant().plus(settings.clockSkew()), key);
    }

    /** UNAUTHENTICATED, for a token of this issuer. */
    RejectedException refused(String why) {
        return new Rejection(
                        Reason.UNAUTHENTICATED,
                        "the JWT is refused: " + why + "; this lock server accepts tokens of " + settings.issuer()
                                + " for audience " + settings.audience())
                .with(Rejection.APPLIED, "no")
                .asException();
    }
}
