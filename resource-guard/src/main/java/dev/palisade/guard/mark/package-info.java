/**
 * Where a guard at the door keeps its marks (protocol, the guard, mark store): the port and its stores. They keep what they
 * are told and judge nothing.
 */
@NullMarked
package dev.palisade.guard.mark;

import org.jspecify.annotations.NullMarked;
