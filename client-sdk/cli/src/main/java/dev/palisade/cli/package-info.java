/**
 * The command line {@code palisade}: what operators ask of a lock server, one class for each verb. Locks for shell scripts are in
 * {@code run}.
 */
@NullMarked
package dev.palisade.cli;

import org.jspecify.annotations.NullMarked;
