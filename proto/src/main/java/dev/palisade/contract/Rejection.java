package dev.palisade.contract;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * A refusal as a value: one reason of the closed list, one line for a person, and what a program may want to know.
 *
 * @param reason why
 * @param message one line: what, where and what to do
 * @param metadata names and values, such as {@link #PRESENTED_TOKEN}
 */
public record Rejection(Reason reason, String message, Map<String, String> metadata) implements Serializable {
    /** Metadata: the token that the refused call carried. */
    public static final String PRESENTED_TOKEN = "presented_token";
    /** Metadata: the token that the guard's mark holds. */
    public static final String MARK_TOKEN = "mark_token";
    /** Metadata: the grant that the guard's mark holds. */
    public static final String MARK_GRANT = "mark_grant";
    /** Metadata: when the guard first saw what superseded the call, milliseconds since 1970 by the guard's clock. */
    public static final String SUPERSEDED_AT_MILLIS = "superseded_at_millis";
    /** Metadata: the resource that was guarded. */
    public static final String RESOURCE = "resource";
    /** Metadata: the lock that was asked for. */
    public static final String LOCK = "lock";
    /** Metadata: {@code no} when the call was certainly not applied, {@code unknown} otherwise. */
    public static final String APPLIED = "applied";
    /** Metadata: milliseconds after which a retry is sensible. */
    public static final String RETRY_AFTER_MILLIS = "retry_after_millis";
    /** Metadata: how the lease ended: {@code EXPIRED}, {@code RELEASED}, {@code ABANDONED} or {@code FORCE_RELEASED}. */
    public static final String ENDED = "ended";
    /** Metadata: who ended the lease and why, when a person did. */
    public static final String DETAIL = "detail";
    /** Metadata: {@code host:port} of the lock server that is active, where a standby knows it. */
    public static final String ACTIVE = "active";
    /** Metadata: the name of the limit that was reached. */
    public static final String LIMIT = "limit";

    public Rejection {
        metadata = Map.copyOf(metadata);
    }

    public Rejection(Reason reason, String message) {
        this(reason, message, Map.of());
    }

    /** This rejection with one more piece of metadata, or another value of it. */
    public Rejection with(String name, String value) {
        Map<String, String> more = new HashMap<>(metadata);
        more.put(name, value);
        return new Rejection(reason, message, more);
    }

    /** This rejection as something to throw. */
    public RejectedException asException() {
        return new RejectedException(this);
    }
}
