package dev.palisade.server.metrics;

/** Why a line is missing in the log, as a label. */
enum LogDrop {
    /** One event came too often. */
    RATE,
    /** Standard error is not read. */
    UNREAD
}
