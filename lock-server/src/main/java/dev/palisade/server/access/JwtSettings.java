package dev.palisade.server.access;

import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Settings of the JWTs that a server accepts.
 *
 * @param issuer claim {@code iss}
 * @param audience one of the claim {@code aud}
 * @param jwks file or URL of the issuer's public keys
 * @param principalClaim names the client, such as {@code sub}
 * @param clockSkew how far clocks may differ
 */
public record JwtSettings(String issuer, String audience, String jwks, String principalClaim, Duration clockSkew) {
    /** Default of {@code principalClaim}. */
    public static final String SUBJECT = "sub";

    /** The URL of the keys; empty for a file. */
    Optional<URI> url() {
        return jwks.contains("://") ? Optional.of(URI.create(jwks)) : Optional.empty();
    }

    /** Why keys must not be fetched from there; empty for a file and for a good URL. */
    public static Optional<String> mistake(String jwks) {
        if (!jwks.contains("://")) {
            return Optional.empty();
        }
        URI url;
        try {
            url = new URI(jwks);
        } catch (URISyntaxException e) {
            return Optional.of("is not a URL; use https://HOST/PATH or a file");
        }
        if (url.getHost() == null
                || url.getUserInfo() != null
                || !Set.of("https", "http").contains(url.getScheme())) {
            return Optional.of("is not a URL of keys; use https://HOST/PATH without a user or password, or a file");
        }
        return url.getScheme().equals("https") || isLoopback(url.getHost())
                ? Optional.empty()
                : Optional.of("is fetched without TLS, so others could replace the keys; use https:// or a file");
    }

    private static boolean isLoopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }
}
