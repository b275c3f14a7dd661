/**
 * The properties of a finished run, asked of what the storage says it applied and of what the clients say they were
 * answered. Pure: each checker takes records and returns what is wrong in words; an empty list is a pass.
 */
@NullMarked
package dev.palisade.check;

import org.jspecify.annotations.NullMarked;
