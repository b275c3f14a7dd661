/**
 * The watchdog process of {@code palisade run}. It starts the command, polls the validity of the lease, and terminates
 * the command when the lease is no longer valid, even if {@code palisade run} has died. It uses only the JDK, so that
 * it starts fast and stays small.
 */
@NullMarked
package dev.palisade.cli.watchdog;

import org.jspecify.annotations.NullMarked;
