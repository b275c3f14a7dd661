package dev.palisade.server.metrics;

/** Whether a session has a stream, as a label. */
enum SessionState {
    CONNECTED,
    GRACE
}
