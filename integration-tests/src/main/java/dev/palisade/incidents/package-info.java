/**
 * {@code palisade chaos redis} and {@code palisade chaos postgresql}: failures of real store processes while tokens are
 * taken, of Palisade, of a careful script or table, and of Redisson. The log of all tokens is checked; this package
 * contains no rule of the product.
 */
@NullMarked
package dev.palisade.incidents;

import org.jspecify.annotations.NullMarked;
