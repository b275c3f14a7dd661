/**
 * The watchdog of {@code palisade run}: a process of its own that starts the command, is told how long the lease holds, and ends
 * the command when it holds no longer, whatever became of the process that took the lock. Uses the JDK only, so that it starts
 * fast and stays small.
 */
@NullMarked
package dev.palisade.cli.watchdog;

import org.jspecify.annotations.NullMarked;
