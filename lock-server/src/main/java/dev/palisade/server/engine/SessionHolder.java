package dev.palisade.server.engine;

/**
 * Whose a session is.
 *
 * @param principal empty without authentication
 * @param sessionsMax how many sessions the principal may have at a time; LIMIT_EXCEEDED beyond
 */
public record SessionHolder(String principal, int sessionsMax) {
    /** Of a server without authentication. */
    public static final SessionHolder ANYONE = new SessionHolder("", Integer.MAX_VALUE);
}
