package dev.palisade.server.ownership;

/** What an append came to: the log's next state, and whether the batch is stored. If not, nothing has changed. */
public record AppendDecision(LogState next, boolean stored) {}
