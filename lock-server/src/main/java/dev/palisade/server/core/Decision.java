package dev.palisade.server.core;

import java.util.List;

/**
 * What a command came to.
 *
 * @param next the state, with {@code events} applied
 * @param events everything that changed, in order
 * @param lastToken the last token issued, by this command or before it
 */
public record Decision(LockState next, Answer answer, List<LockEvent> events, long lastToken) {}
