/**
 * {@code palisade chaos redis} and {@code palisade chaos postgresql}: what happens to a store in use, done to real processes while
 * tokens are taken, and what that does to the tokens: of Palisade, of a careful script or table, and of Redisson. Judged from the record
 * of all tokens issued; no rule of the product is here.
 */
@NullMarked
package dev.palisade.incidents;

import org.jspecify.annotations.NullMarked;
