package dev.palisade.server.ownership;

/** What a claim came to: the log's next state, and the reply. */
public record ClaimDecision(LogState next, ClaimReply reply) {}
