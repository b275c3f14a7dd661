package dev.palisade.server;

/** What the last active lock server does when the log has lost data. */
enum AfterLoss {
    /** It writes its memory into the log, and continues: no lease and no place in a queue is lost. */
    RESUME,
    /** It forgets its memory, and nothing new is granted for a time in which holders come back. */
    WAIT
}
