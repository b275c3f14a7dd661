package dev.palisade.server.metrics;

/** Kind of a file, or URL, with credentials or rights that is read again while a server runs. */
public enum CredentialFile {
    TLS_CERTIFICATE,
    TLS_CLIENT_CA,
    POLICY,
    USERS,
    JWKS,
    KEYSET,
    GUARD_GROUPS
}
