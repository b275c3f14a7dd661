package dev.palisade.server.access;

import java.time.Instant;

/**
 * Identity in a verified JWT.
 *
 * @param principal {@code jwt:} and the claim that names the client
 * @param expiresAt when the token is no longer accepted: its claim {@code exp} and the clock skew
 * @param key thumbprint (RFC 7638) of the key that signed it
 */
public record JwtIdentity(String principal, Instant expiresAt, String key) {}
