package dev.palisade.server.core;

import java.util.Arrays;
import java.util.Optional;

/**
 * Cause of the end of a lease that neither its client nor an operator asked for. Stores keep its {@link #words} as the end's detail, so
 * that a server of an earlier release reads it as any other detail.
 */
public enum EndCause {
    CONNECTION_BROKE("the connection broke, and the client did not return within the grace"),
    CLIENT_CLOSED("the client closed its session without releasing the lease"),
    NOT_RESUMED("a newer stream of the client did not take the lease over within the grace"),
    RIGHTS_CHANGED("the rights of the client changed, and it did not return within the grace"),
    RIGHTS_WITHDRAWN("the policy does not allow the client this lock any more"),
    TOKENS_WITHDRAWN("the tokens of the client were withdrawn"),
    JWT_EXPIRED("the JWT of the client expired, and it did not return with a new one"),
    KEY_WITHDRAWN("the key that signed the client's JWT was withdrawn"),
    CERTIFICATE_EXPIRED("the certificate of the client expired, and it did not return with a new one"),
    AUTHORITIES_CHANGED(
            "the authorities of client certificates changed, and the client did not return within the grace"),
    STREAM_REFUSED("the lock server ended the stream, because the client sent what it may not"),
    NOT_READ("the lock server ended the stream, because the client did not read it"),
    SERVER_STOPPED("the lock server stopped, or became a standby"),
    GIVEN_UP("the client gave the lease up while the store restored it");

    private final String words;

    EndCause(String words) {
        this.words = words;
    }

    /** For people: what follows "the lease ended: ". */
    public String words() {
        return words;
    }

    /** The cause that an end's detail names; empty: a server of an earlier release did not say. */
    public static Optional<EndCause> of(End end, String detail) {
        return end == End.ABANDONED
                ? Arrays.stream(values())
                        .filter(cause -> cause.words.equals(detail))
                        .findFirst()
                : Optional.empty();
    }
}
