/** The admin port of processes that have a guard: {@code palisade objects} and {@code palisade gateway}. Not for applications. */
@NullMarked
package dev.palisade.admin;

import org.jspecify.annotations.NullMarked;
