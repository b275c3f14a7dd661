/**
 * {@code palisade chaos run}: many client processes under faults that a seed chooses, their history, and the checkers over it.
 * Does the harm and writes down what happened; it judges nothing by itself, that is {@code dev.palisade.check}'s.
 */
@NullMarked
package dev.palisade.faults;

import org.jspecify.annotations.NullMarked;
