/**
 * Ownership of a fenced log: which lock server may append to it, as pure functions.
 *
 * <p>{@link dev.palisade.server.ownership.LogRules} is the log's side: what a claim and an append come to, given what is
 * stored and what the log's process remembers. {@link dev.palisade.server.ownership.OwnershipMachine} is the lock server's
 * side: what to do after each reply. Nothing here reads a clock, draws a random number, starts a thread or does I/O.
 */
@NullMarked
package dev.palisade.server.ownership;

import org.jspecify.annotations.NullMarked;
