/**
 * Checkers of the properties of a finished run, from the storage's log of applied calls and the replies that clients
 * received. Pure: each checker returns descriptions of violations; an empty list is a pass.
 */
@NullMarked
package dev.palisade.check;

import org.jspecify.annotations.NullMarked;
