package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSObject;
import com.nimbusds.jose.Payload;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JwtVerifierTest {
    private static final Instant NOW = Instant.ofEpochSecond(1_800_000_000);
    private static final Instant LATER = NOW.plusSeconds(600);
    private static final RSAKey RSA = JwtIssuer.rsa("r1");
    private static final ECKey EC = JwtIssuer.ec("e1");
    private static final JwtSettings SETTINGS =
            new JwtSettings(JwtIssuer.ISSUER, JwtIssuer.AUDIENCE, "jwks.json", "sub", Duration.ofSeconds(60));

    private final JwtVerifier verifier = new JwtVerifier(SETTINGS, () -> NOW);
    private final VerificationKeys keys = keys(RSA, EC);

    private static VerificationKeys keys(JWK... keys) {
        try {
            return VerificationKeys.parse("jwks.json", JwtIssuer.jwks(keys));
        } catch (FileMistakes e) {
            throw new AssertionError(e);
        }
    }

    private static JWTClaimsSet.Builder alice() {
        return JwtIssuer.claims(LATER);
    }

    @Test
    void tokensOfBothAlgorithmsNameTheirSubject() {
        for (JWK key : List.of(RSA, EC)) {
            assertThat(verifier.verify(JwtIssuer.signed(key, alice()), keys)).satisfies(identity -> {
                assertThat(identity.principal()).isEqualTo("jwt:alice");
                assertThat(identity.expiresAt()).isEqualTo(LATER.plusSeconds(60));
                assertThat(keys.has(identity.key())).isTrue();
            });
        }
        String pod = JwtIssuer.signed(
                RSA, alice().subject("system:serviceaccount:shop:web").audience(List.of("other", "locks")));
        assertThat(verifier.verify(pod, keys))
                .extracting(JwtIdentity::principal)
                .isEqualTo("jwt:system:serviceaccount:shop:web");
        String untyped = JwtIssuer.signed(JwtIssuer.header(RSA).build(), RSA, alice());
        String accessToken = JwtIssuer.signed(
                JwtIssuer.header(RSA).type(new JOSEObjectType("at+jwt")).build(), RSA, alice());
        assertThat(verifier.verify(untyped, keys)).isNotNull();
        assertThat(verifier.verify(accessToken, keys)).isNotNull();
    }

    @Test
    void anotherClaimCanNameThePrincipal() {
        JwtVerifier byMail = new JwtVerifier(
                new JwtSettings(JwtIssuer.ISSUER, JwtIssuer.AUDIENCE, "", "email", Duration.ZERO), () -> NOW);
        String token = JwtIssuer.signed(RSA, alice().claim("email", "a@example.org"));
        assertThat(byMail.verify(token, keys))
                .extracting(JwtIdentity::principal)
                .isEqualTo("jwt:a@example.org");
        assertThatThrownBy(() -> byMail.verify(JwtIssuer.signed(RSA, alice()), keys))
                .hasMessageContaining("missing required claims: [email]");
        assertThatThrownBy(() -> byMail.verify(JwtIssuer.signed(RSA, alice().claim("email", List.of("a"))), keys))
                .hasMessageContaining("its claim email names no client");
    }

    @Test
    void eachWrongTokenIsRefusedInOneLineWithoutIt() throws Exception {
        Map<String, String> wrong = new LinkedHashMap<>();
        String good = JwtIssuer.signed(RSA, alice());
        String[] parts = good.split("\\.", -1);
        wrong.put(new PlainJWT(alice().build()).serialize(), "it is not signed");
        wrong.put(JwtIssuer.signedWithPublicKey(RSA, alice()), "its algorithm is not RS256 or ES256");
        wrong.put(JwtIssuer.signed(RSA, JwtIssuer.claims(NOW.minusSeconds(61))), "Expired JWT");
        wrong.put(JwtIssuer.signed(RSA, alice().expirationTime(null)), "missing required claims: [exp]");
        wrong.put(payload("{\"exp\":null}"), "its claim exp is no time");
        wrong.put(payload("{\"exp\":\"soon\"}"), "its claim exp is no time");
        wrong.put(payload("{\"exp\":1000000000000000000}"), "its claim exp is no time");
        wrong.put(payload("{\"exp\":1800000600,\"nbf\":1e18}"), "its claim nbf is no time");
        Base64URL header = Base64URL.encode("{\"alg\":\"RS256\",\"kid\":\"r1\",\"crit\":[]}");
        String critical = header + "." + parts[1] + "." + parts[2];
        wrong.put(critical, "critical parameters (crit)");
        wrong.put(JwtIssuer.signed(RSA, alice().notBeforeTime(Date.from(NOW.plusSeconds(62)))), "JWT before use time");
        wrong.put(JwtIssuer.signed(RSA, alice().audience("other")), "aud claim rejected");
        wrong.put(JwtIssuer.signed(RSA, alice().audience((String) null)), "missing required aud claim");
        wrong.put(JwtIssuer.signed(RSA, alice().issuer("https://evil.example.org")), "iss claim value rejected");
        wrong.put(JwtIssuer.signed(RSA, alice().issuer(null)), "missing required claims: [iss]");
        wrong.put(JwtIssuer.signed(RSA, alice().subject(null)), "missing required claims: [sub]");
        for (String subject : List.of("", "two words", "line\nbreak", "\u00e9", "x".repeat(513))) {
            wrong.put(JwtIssuer.signed(RSA, alice().subject(subject)), "its claim sub names no client");
        }
        wrong.put(parts[0] + "." + parts[1] + "." + "A".repeat(342), "its signature is wrong");
        String bob = JwtIssuer.signed(RSA, alice().subject("bob"));
        wrong.put(parts[0] + "." + bob.split("\\.", -1)[1] + "." + parts[2], "its signature is wrong");
        wrong.put(JwtIssuer.signed(JwtIssuer.rsa("r1"), alice()), "its signature is wrong");
        wrong.put(
                JwtIssuer.signed(
                        JwtIssuer.header(RSA)
                                .type(new JOSEObjectType("logout+jwt"))
                                .build(),
                        RSA,
                        alice()),
                "its type is not JWT");
        wrong.put(JwtIssuer.signed(RSA, alice().claim("pad", "x".repeat(4_096))), "more than 4096 characters");
        for (String text : List.of("x", "a.b.c", "..", "{}.{}.{}", "garbled\u0001.b.c")) {
            wrong.put(text, "not in the format of a JWT");
        }
        wrong.forEach((token, message) -> assertThatThrownBy(() -> verifier.verify(token, keys))
                .as(message)
                .isInstanceOfSatisfying(RejectedException.class, e -> {
                    assertThat(e.rejection().reason()).isEqualTo(Reason.UNAUTHENTICATED);
                    assertThat(e.rejection().message())
                            .startsWith("the JWT is refused: ")
                            .contains(message)
                            .doesNotContain("evil", "garbled", "eyJ", "bob", "two words", "\n");
                }));
    }

    /** Signed, with these claims in place of those of alice. */
    private static String payload(String claims) throws Exception {
        JWSObject token = new JWSObject(JwtIssuer.header(RSA).build(), new Payload(claims));
        token.sign(new RSASSASigner(RSA));
        return token.serialize();
    }

    @Test
    void clocksMayDifferByTheSkew() {
        String justExpired = JwtIssuer.signed(RSA, JwtIssuer.claims(NOW.minusSeconds(58)));
        String notYet = JwtIssuer.signed(RSA, alice().notBeforeTime(Date.from(NOW.plusSeconds(58))));
        assertThat(verifier.verify(justExpired, keys)).isNotNull();
        assertThat(verifier.verify(notYet, keys)).isNotNull();
    }

    @Test
    void aKeyInTheTokenIsNotUsed() {
        RSAKey own = JwtIssuer.rsa("own");
        String token =
                JwtIssuer.signed(JwtIssuer.header(own).jwk(own.toPublicJWK()).build(), own, alice());
        assertThat(verifier.verify(token, keys)).as("no key fits").isNull();
        assertThat(verifier.verify(JwtIssuer.signed(JwtIssuer.ec("r1"), alice()), keys))
                .as("a key of another kind")
                .isNull();
    }

    @Test
    void aSetWithASecretOrWithoutAUsableKeyIsRefused() throws Exception {
        Map<String, String> wrong = new LinkedHashMap<>();
        wrong.put("", "is no JWK set");
        wrong.put("[]", "is no JWK set");
        wrong.put("{\"keys\":1}", "is no JWK set");
        wrong.put("{\"keys\":[{\"kty\":\"RSA\",\"n\":\"secret\"}]}", "is no JWK set");
        wrong.put(new JWKSet(RSA).toString(false), "holds a private or secret key");
        wrong.put(
                new JWKSet(new OctetSequenceKey.Builder(new byte[32]).build()).toString(false),
                "holds a private or secret key");
        wrong.put("{\"keys\":[]}", "has no key that can verify");
        wrong.put(JwtIssuer.jwks(JwtIssuer.rsa("small", 1_024)), "has no key that can verify");
        wrong.put(
                JwtIssuer.jwks(new RSAKey.Builder(RSA).keyUse(KeyUse.ENCRYPTION).build()),
                "has no key that can verify");
        wrong.put(
                JwtIssuer.jwks(Collections.nCopies(101, (JWK) EC).toArray(new JWK[0])),
                "has 101 keys; use at most 100");
        wrong.forEach((text, message) -> assertThatThrownBy(() -> VerificationKeys.parse("jwks.json", text))
                .as(message)
                .isInstanceOf(FileMistakes.class)
                .hasMessageStartingWith("jwks.json ")
                .hasMessageContaining(message)
                .hasMessageNotContaining("secret\""));
    }

    @Test
    void keysAreFetchedFromOtherMachinesByTlsOnly() {
        for (String good :
                List.of("keys.json", "/etc/keys.json", "https://login.example.org/keys", "http://127.0.0.1:1/k")) {
            assertThat(JwtSettings.mistake(good)).as(good).isEmpty();
        }
        assertThat(JwtSettings.mistake("http://192.0.2.1/keys").orElse("")).contains("fetched without TLS");
        for (String wrong : List.of("ftp://127.0.0.1/k", "https://a:b@host/k", "https://", "https://a b/")) {
            assertThat(JwtSettings.mistake(wrong).orElse("")).as(wrong).contains("not a URL");
        }
    }
}
