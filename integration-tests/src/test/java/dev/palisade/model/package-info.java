/** The specs of tokens and guard, checked by a model checker. */
@NullMarked
package dev.palisade.model;

import org.jspecify.annotations.NullMarked;
