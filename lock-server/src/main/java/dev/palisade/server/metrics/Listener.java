package dev.palisade.server.metrics;

/** Port of a lock server. */
public enum Listener {
    LOCKS,
    ADMIN
}
