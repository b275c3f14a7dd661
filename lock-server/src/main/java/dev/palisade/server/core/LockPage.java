package dev.palisade.server.core;

import java.util.List;

/**
 * Some of the locks that are in use, in the order of their names. It may hold fewer than were asked for, even none, before the
 * end.
 *
 * @param nextAfter the name after which to go on; empty at the end
 * @param nowMillis the store's time of the look
 */
public record LockPage(List<LockState> locks, String nextAfter, long nowMillis) {}
