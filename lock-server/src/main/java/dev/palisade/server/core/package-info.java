/**
 * The lock machine: every decision about one lock, as a pure function of its state, a command and the time.
 *
 * <p>Nothing here reads a clock, draws a random number, starts a thread or does I/O; time and the last issued token come
 * as arguments. Each command is one record in one file. What a command changes is told as {@link LockEvent}s, and the
 * next state is those events applied to the last one: a store that keeps the events can replay them without the rules.
 */
@NullMarked
package dev.palisade.server.core;

import org.jspecify.annotations.NullMarked;
