/**
 * The command line {@code palisade}: the verbs of operators, one class each. Locks of commands are in {@code run}, those of scripts in
 * {@code lease}.
 */
@NullMarked
package dev.palisade.cli;

import org.jspecify.annotations.NullMarked;
