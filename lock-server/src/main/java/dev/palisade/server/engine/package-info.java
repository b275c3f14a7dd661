/** Client sessions over a store: who is attached, what they hold and wait for, and what they must be told. Knows no transport. */
@NullMarked
package dev.palisade.server.engine;

import org.jspecify.annotations.NullMarked;
